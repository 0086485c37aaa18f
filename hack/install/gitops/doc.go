// Package gitops tests docs/gitops.md. It checks the page's manifests with the Go types of Flux and with a real API server, and applies its
// patches to config/default. It also runs a server, and compares the results of the page's health check for Argo CD with the results of
// kstatus for the server's objects.
//
// It contains only tests.
package gitops
