// Package cluster follows a cluster. It creates and runs managers for as long as the process lives, loads all objects when a
// manager has started, removes what the cluster no longer has, and detects when another cluster, or an older state of the same one,
// answers at the address of the API server.
//
// Invariants: the package removes a definition only if the API server confirms that the object itself was deleted, or if a complete
// list after a start lacks the object and the sweep is small or confirmed. If the store belongs to another cluster, the package
// reads nothing.
//
// It may import api, the other packages of controllers and the domain.
package cluster
