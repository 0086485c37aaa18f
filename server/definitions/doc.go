// Package definitions holds the definitions of a library in memory and decides which of them are served. All libraries that
// store definitions share it: the store loads entries into it and persists the entries that change.
//
// # Invariants
//
//   - A Set is immutable. A Change stages the next one; nothing is visible before the library publishes it.
//   - What a Set serves depends only on its entries (see library.Arbitrate): two replicas with the same entries serve the
//     same definitions.
//   - The cost of changing a few definitions depends on the definitions that contend with them, not on the total
//     number of definitions (docs/decisions/0010-definitions-by-stakes.md).
//   - A Catalogue that a change does not affect keeps its pointer, and so do its Filters, Units and Rules.
//
// This package may import library, query and item.
package definitions
