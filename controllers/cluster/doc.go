// Package cluster follows a cluster. It runs a controller-runtime manager, and creates the next manager when one ends, until the process
// ends. After a manager has started, the package loads all objects and removes the definitions whose objects are no longer in the cluster.
// It also detects that another cluster, or an older state of the same cluster, responds at the address of the API server, and restarts the
// watches after an outage.
//
// Invariants: the package removes a definition only if the API server confirms that the object itself was deleted, or if the complete list
// of objects after a start lacks the object and the sweep is small or a user has confirmed it. If the store belongs to another cluster, the
// package reads no objects.
//
// This package may import api, the other packages of controllers and the domain.
package cluster
