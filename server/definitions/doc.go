// Package definitions holds the definitions of a library in memory and decides what is served of them. Every library that
// stores definitions shares it: the store that persists them brings entries in and writes the entries that change.
//
// # Invariants
//
//   - A Set is immutable. A Change stages the next one; nothing is visible before the library publishes it.
//   - What a Set serves depends on its entries alone (see library.Arbitrate): two replicas with the same entries serve the
//     same.
//   - A change of a few definitions costs as much as what contends with them, not as much as all of them
//     (docs/decisions/0010-definitions-by-stakes.md).
//   - A Catalogue that a change does not touch keeps its pointer, and so do its Filters, Units and Rules.
//
// It may import library, query and item.
package definitions
