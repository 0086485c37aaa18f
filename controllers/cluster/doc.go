// Package cluster follows a cluster: it makes and runs managers for as long as the process lives, loads all objects when one has
// started, removes what the cluster no longer has, and notices when another cluster, or an older state, answers at the address of
// the API server.
//
// Invariants: nothing is removed unless the API server confirms that the object itself was deleted, or a complete list after a start
// lacks it and the sweep is small or confirmed; with another cluster than the store belongs to, nothing is read.
//
// It may import api, the other packages of controllers and the domain.
package cluster
