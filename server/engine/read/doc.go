// Package read answers the reads of one property: pages of listings, single items, and which items match a query.
//
// A Read takes a Snapshot of its Property: the segments, the catalogue, and the rules of manifests as they are at its time. In
// the Snapshot it finds its listing: queries and an order, bound once. A page is cut out of the listing, and its bytes are copied
// from the segments.
//
//	property.go  what reads of a property leave for the next one, from one snapshot to the next
//	snapshot.go  one state of a property, as a reader sees it
//	overlay.go   what manifests bring, as search takes it
//	listing.go   queries bound to a snapshot
//	page.go      a page of a listing
//	ranked.go    the known part of a listing by relevance
//	versions.go  which listings a batch has touched
//	items.go     the bytes of items, with what other objects own put in
//
// # Invariants
//
//   - A page comes from one Snapshot, and nothing that a Snapshot says ever changes; it only remembers what it was asked.
//   - The caller holds the segments of a Snapshot (index.Snapshot) for as long as it uses the Snapshot. What leaves a read is
//     a copy.
//   - No caller waits for what another one computes longer than its own context allows (package flight).
//
// It may import index, search, segment, flight, server/store, server/definitions, server/eval, library, item and query with its
// subpackages.
package read
