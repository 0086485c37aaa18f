// Package engine is the fast content library: a store, and segments that are searched where they lie.
//
// A Read takes a moment of its property: one snapshot of the segments, one catalogue, and the rules of manifests as they
// are at its time. In the moment it finds its listing: a query bound to the snapshot, whose documents are a bitmap for each
// segment. A page is cut out of those bitmaps by rank, and its bytes are copied from the segments.
//
//	library.go   the Library: what a store does not answer itself (and read.go, explain.go, export.go, state.go, copy.go)
//	follow.go    how the segments follow the store: load, prepare, install
//	loading.go   opening the indexes, and opening again those that failed
//	property.go  one property, and how its moments are found
//	moment.go    what a reader sees
//	overlay.go   what manifests bring, as search takes it
//	listing.go   queries bound to a moment
//	ranked.go    listings by relevance
//	versions.go  which listings a batch has touched
//	tend.go      shrinking caches while there are no reads
//
// # Invariants
//
//   - The store is the truth (see server/store). Segments and all that is kept of them can be made anew at any time.
//   - A page comes from one moment, and nothing of a moment is ever changed.
//   - Nothing of a segment is looked at without a reference to a snapshot that has it. What leaves a Read is a copy.
//   - A property whose index cannot be opened answers ErrUnavailable, or goes on showing what it showed before. Nothing changes its items meanwhile, its definitions may
//     change, and no other property notices.
//
// It may import library, query, item, server/store, server/eval and the packages below it.
package engine
