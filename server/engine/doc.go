// Package engine implements the fast content library: a store, and segments that are searched in place.
//
//	library.go   Library: the operations that the store does not answer (and export.go, state.go, measures.go, copy.go)
//	follow.go    follower: loads the segments of the store, prepares them for a batch and installs it
//	loading.go   opens the indexes and retries those that failed
//	property.go  one property: its index and the state that readers see
//	relief.go    shrinks the cache while memory is short
//
// Package read answers the reads of a property from its snapshots. Package index maintains its segments. Package search
// evaluates queries over them. Package segment implements one segment.
//
// # Invariants
//
//   - The store is the source of truth (see server/store). Segments and everything derived from them can be rebuilt at any
//     time.
//   - Data of a segment is accessed only with a reference to a snapshot that has the segment. A Read returns copies.
//   - A property whose index cannot be opened returns ErrUnavailable, or keeps serving its last snapshot. Until the index is
//     open, its items cannot change, but its definitions can. Other properties are not affected.
//
// It may import index, read, search, segment, server/store, server/transfer, server/definitions, library, item and query.
package engine
