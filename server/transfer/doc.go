// Package transfer copies a library to another implementation, such as from the engine to OpenSearch. The target gives the same responses
// as the source: ids, tokens, author references and short links stay the same, and later items get the ids that they would get in the
// source.
//
// # Invariants
//
//   - The source is frozen before anything is read, and stays frozen: reads continue, and every write fails with
//     library.FrozenError. A freeze is durable and has an id.
//   - Until Finish, a target records the freeze of its source, and cannot be opened as a library. A later Copy of the same freeze
//     continues it. A Copy of another freeze refuses it, because the source may have changed in between.
//   - Copy compares the items in the target with those of the source and stores only those that differ. An interrupted batch of any
//     kind is therefore harmless.
//   - Copy finishes a target only after it has read everything back from it and found it equal to the source.
//
// This package may import definitions, mutations, library and item.
package transfer
