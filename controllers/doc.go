// Package controllers keeps a library as the manifests of a cluster say: one reconciler of one shape for each of the five
// kinds, a bulk load and a guarded sweep at start, and a supervisor that outlives the API server. It knows nothing of HTTP
// and nothing of storage.
//
// Invariants: a spec is never written, and a status only when its meaning changed; there are no finalizers, a deletion
// that is seen removes what the object brought; nothing secret stands in a status, an event or a log line.
//
// It may import api, library, query and item.
package controllers
