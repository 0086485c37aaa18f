// Package reference is the plain content library with which tests compare the engine. It keeps items in a store, computes
// everything else from scratch, and evaluates queries by walking documents in memory. It is not for users: each read after a change
// costs as much as opening the library.
//
// # Invariants
//
//   - The store is the source of truth (see server/store).
//   - A view is one property at one instant, computed from the store alone while the writer waits. It is immutable, so that a page
//     comes from one state.
//   - A view is kept until the property changes. If a rule depends on the time, the view is used only for its own instant.
//
// It may import store, definitions, eval, library, query and item.
package reference
