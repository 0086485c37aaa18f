// Package reference implements the plain content library that tests compare the engine with. It keeps items in a store, computes everything
// else from scratch, and evaluates queries by walking documents in memory. It is not available to users, because each read after a change
// costs as much as opening the library.
//
// # Invariants
//
//   - The store is the source of truth (see server/store).
//   - A view is the state of one property at one instant, computed from the store alone while the writer waits. It is immutable,
//     so that a page comes from one state.
//   - A view is kept until the property changes. If a rule depends on the time, the view is used only for its own instant.
//
// This package may import store, definitions, eval, library, query and item.
package reference
