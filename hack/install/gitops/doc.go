// Package gitops tests docs/gitops.md: its manifests with the types of Flux and a real API server, its patches with config/default,
// and its health check for Argo CD against kstatus, on the objects that the server writes.
//
// It contains only tests.
package gitops
