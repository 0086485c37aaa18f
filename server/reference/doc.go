// Package reference implements a simple content library, with whose results tests compare those of the engine (package server/engine). It
// keeps items and definitions in a store, computes everything else from scratch, and evaluates queries by walking documents in memory. It
// is not available to users, because each read after a change costs as much as opening the library.
//
// # Invariants
//
//   - The store is the source of truth (see server/store).
//   - A view is the state of one property at one instant, computed only from the store while the writer waits. It is immutable, so that all
//     items of a page are from the same state.
//   - A view is kept until the property changes. If a rule depends on the time, only reads at the instant of the view use it.
//
// This package may import store, definitions, eval, library, query and item.
package reference
