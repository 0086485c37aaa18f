// Package read serves the reads of one property: pages of listings, single items, and the IDs of the items that match a query.
//
// A read uses a Snapshot of the Property: the segments, the catalogue, and the rules of manifests at the time of the read. The Snapshot
// caches listings. A listing consists of bound queries and an order. A page is a range of a listing and contains bytes copied from the
// segments.
//
//	property.go  what a property keeps from one snapshot to the next
//	snapshot.go  one state of a property as readers see it
//	planning.go  plans of queries at a time, and the times at which they change
//	overlay.go   converts the rules of manifests to the overlay of package search
//	listing.go   listings: queries and orders that are bound to a snapshot
//	page.go      a page of a listing
//	ranked.go    cached parts of listings by relevance
//	facets.go    the most frequent values of a field
//	versions.go  detects which listings a batch may have changed
//	items.go     the bytes of items, with their conversion units and the base URL inserted
//
// # Invariants
//
//   - A page comes from one Snapshot. Reads of the same Snapshot always have the same results. A Snapshot changes only by caching them.
//   - The caller holds the segments of a Snapshot (index.Snapshot) for as long as it uses the Snapshot. Reads return copies of the data.
//   - A caller that waits for a computation of another caller stops waiting when its own context ends (package flight).
//
// The package may import index, search, segment, flight, server/store, server/definitions, server/eval, library, item, and query with its
// subpackages.
package read
