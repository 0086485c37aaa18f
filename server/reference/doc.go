// Package reference is the small, obviously right content library: a store, and everything evaluated by walking documents
// in memory. It is good for about 100,000 items, and it is the judge of faster libraries.
//
// # Invariants
//
//   - The store is the truth (see server/store). What is in memory is a function of it and of the clock, and is made anew
//     on every start.
//   - Readers hold the read lock for as long as they look, so that a page comes from one state.
//   - Rules that depend on the time are brought up to it before a read, while the store is held.
//
// It may import store, eval, library, query and item.
package reference
