// Package engine implements the fast content library: a store, and segments that are searched in place.
//
//	library.go   Library: the operations that the store does not implement (also in export.go, state.go, measures.go, copy.go)
//	follow.go    follower: loads the indexes of the store's properties, and prepares and installs their changes for each batch
//	loading.go   opens the indexes and retries the failed ones
//	property.go  one property with its index and the state that readers see
//	relief.go    shrinks the cache while the process is short of memory
//
// Package read answers the reads of a property from the property's snapshots. Package index maintains the segments of a property. Package
// search evaluates queries on segments. Package segment implements one segment.
//
// # Invariants
//
//   - The store is the source of truth (see server/store). Segments and everything derived from them can be rebuilt at any time.
//   - Code accesses the data of a segment only while it holds a reference to a snapshot that contains the segment. A Read returns copies of
//     the data.
//   - A property whose index cannot be opened keeps serving its last snapshot, or returns ErrUnavailable if it has none. Until its index is
//     open, the definitions of the property can change, but its items cannot. Other properties are not affected.
//
// The package may import index, read, search, segment, server/store, server/transfer, server/definitions, library, item and query.
package engine
