// Package transfer copies a library to another implementation, such as from the engine to OpenSearch. The target gives the same responses
// as the source: ids, tokens, author references and short links stay the same, and later items get the ids that they would get in the
// source.
//
// # Invariants
//
//   - The source is frozen before anything is read, and stays frozen: reads continue, and every write fails with
//     library.FrozenError. A freeze is durable and has an id.
//   - Until Finish, a target records the freeze of its source, and cannot be opened as a library. A later Copy during the same freeze
//     continues with this target. A Copy during another freeze fails with RefusedError, because the source may have changed in between.
//   - Copy compares the items in the target with those of the source and stores only those that differ. An interrupted batch of any
//     kind is therefore harmless.
//   - A position in the changes of the source (see library.Feed) continues in the target if no change follows it in the source. The target
//     does not know other positions of the source.
//   - Copy finishes a target only after it has read all data back from the target and found that the data equals that of the source.
//
// This package may import definitions, mutations, library and item.
package transfer
