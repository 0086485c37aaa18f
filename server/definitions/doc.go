// Package definitions holds the definitions of a library in memory and decides which of them are served. All libraries that store
// definitions use it: a library loads its stored entries into a Set, and persists the entries that a Change replaces.
//
// # Invariants
//
//   - A Set is immutable. A Change stages the next Set, which is not visible until the library publishes it.
//   - The definitions that a Set serves depend only on its entries (see library.Arbitrate): two replicas with the same entries serve the
//     same definitions.
//   - The cost of changing a few definitions depends on the definitions that compete with them, not on the total
//     number of definitions (docs/decisions/0010-definitions-by-stakes.md).
//   - A Catalogue that a change does not affect keeps its pointer, and so do its Filters, Units and Rules.
//
// This package may import library, query and item.
package definitions
