// Package gitops holds docs/gitops.md against what it speaks of: its manifests against the types of Flux and a real API
// server, its patches against config/default, and its health check for Argo CD against kstatus, over what the server writes.
//
// It has tests alone.
package gitops
