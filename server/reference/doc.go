// Package reference is the plain content library, the judge that tests compare the engine with. It keeps items in a store,
// computes everything else from nothing, and evaluates queries by walking documents in memory. It is not made for users:
// each read after a change costs as much as opening the library.
//
// # Invariants
//
//   - The store is the truth (see server/store).
//   - A view is one property at one instant, computed from the store alone while the writer waits. It is immutable, so that a
//     page comes from one state.
//   - A view is kept until the property changes. With rules that depend on the time, it serves no other instant.
//
// It may import store, definitions, eval, library, query and item.
package reference
