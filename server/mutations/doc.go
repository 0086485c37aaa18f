// Package mutations applies mutations to the items of one property in memory: the rules of library.Library.Write that do not
// depend on how items are stored. A store brings what the property holds (Base) and writes what a Stage collects.
//
// # Invariants
//
//   - A Stage is what the property will hold: each mutation sees what those before it staged.
//   - A refused mutation stages nothing.
//   - A Stage never changes an item that Base returned.
//
// It may import definitions, library, query and item.
package mutations
