// Package engine is the fast content library: a store, and segments that are searched where they lie.
//
//	library.go   the Library: what a store does not answer itself (and export.go, state.go, measures.go, copy.go)
//	follow.go    how the segments follow the store: load, prepare, install
//	loading.go   opening the indexes, and opening again those that failed
//	property.go  one property: its index and the state that readers see
//	relief.go    shrinking the cache while memory is short
//
// Package read answers the reads of a property from its snapshots, package index keeps its segments, package search evaluates
// queries over them, and package segment is one of them.
//
// # Invariants
//
//   - The store is the truth (see server/store). Segments and all that is kept of them can be rebuilt at any time.
//   - Nothing of a segment is looked at without a reference to a snapshot that has it. What leaves a Read is a copy.
//   - A property whose index cannot be opened answers ErrUnavailable, or goes on showing what it showed before. Meanwhile its items
//     do not change, its definitions may, and the other properties are not affected.
//
// It may import index, read, search, segment, server/store, server/definitions, library, item and query.
package engine
