// Package mutations applies mutations to items of one property, in memory only. It implements those rules of library.Library.Write that do
// not depend on how items are stored. A store provides the current state (Base), and writes the changes that a Stage collects.
//
// # Invariants
//
//   - A Stage represents the next state of the property: each mutation sees the effects of the previous ones.
//   - A refused mutation stages nothing.
//   - A Stage never modifies an item that Base returned.
//
// This package may import definitions, library, query and item.
package mutations
