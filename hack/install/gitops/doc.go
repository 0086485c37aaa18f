// Package gitops tests docs/gitops.md. It checks the page's manifests with the Go types of Flux and with a real API server, and applies its
// patches to config/default. It also compares the page's health check for Argo CD with kstatus, for objects of a running server.
//
// It contains only tests.
package gitops
