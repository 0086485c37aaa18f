// Package controllers keeps a library as the manifests of a cluster say: one reconciler of one shape for each kind. A pass over an
// object translates it into a definition, applies that, and reports in the status what became of it. The file of a kind says what
// the kind adds to that; kinds.go lists the kinds.
//
//	cluster ──▶ controllers ──▶ tokens ──▶ verdict ──▶ translate
//	                    └─────▶ counts
//
// Invariants: a spec is never written, and a status only when its meaning changed; there are no finalizers, a deletion that is seen
// removes what the object brought; a status, an event or a log line holds nothing secret. The package knows nothing of HTTP and
// nothing of storage.
//
// It may import api, counts, tokens, translate, verdict, internal/text and the domain.
package controllers
