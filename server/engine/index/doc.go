// Package index maintains the segments of one property and their tombstones.
//
// Each batch of the store creates one or a few small segments in memory. Small segments are merged in memory, and sealed into a
// file when they hold enough. Files of similar size are merged into larger ones. Readers see a Snapshot: an immutable list of
// segments, each with a bitmap of its dead documents. It keeps its files open until it is released.
//
// # Invariants
//
//   - The store is the source of truth. A lost or damaged file is rebuilt from it, without any other file.
//   - An item has at most one live document in all segments.
//   - The batch that installs a file writes a manifest that names it. A file is removed when no manifest and no snapshot has it; Erase
//     and Drop unlink it earlier, while snapshots have it open. Opening the index removes files that the manifest does not name.
//   - Install and the background tasks swap snapshots, but never at the same time, because both hold the store.
//   - After Abandon or Drop, an index writes nothing more to the store, where another index may have its keys. Their
//     callers hold the store, so they do not wait for the background tasks, which may be waiting for it.
//   - Merging in memory, sealing, and merging files are concurrent tasks (task.go), so that segments in memory stay few however
//     long a merge of files takes.
//   - What to merge depends only on sizes and on whether writes come in a burst (policy.go).
//   - Bytes are verified against their checksums before they are copied into another file.
//
// # Keys
//
// The index has a key space of its own in the store. Numbers are big-endian:
//
//	key                                      value
//	p <property> NUL v                       uint64: the last batch that the index has seen
//	p <property> NUL m                       JSON: the manifest, which lists the files
//	p <property> NUL d <file>                a roaring bitmap: the file's dead documents, as of the manifest
//	p <property> NUL j <uint64> <uint64>     empty: the batch changed the item; deleted once a manifest covers it
//
// If the store has a later batch of the property than v, that batch was written without the index, and the index is rebuilt.
//
// It may import segment, server/store, server/parallel, library, item and query.
package index
