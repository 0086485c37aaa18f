// Package index maintains the segments of one property and their tombstones.
//
// Each batch of the store creates one or a few small segments in memory. Small segments are merged in memory, and sealed into a file when
// they hold enough documents or bytes. Files of similar size are merged into larger ones. Readers see a Snapshot: an immutable list of
// segments, each with a bitmap of its dead documents. A Snapshot keeps its files open until it is released.
//
// # Invariants
//
//   - The store is the source of truth. A lost or damaged file is rebuilt from the store alone.
//   - An item has at most one live document in all segments.
//   - The batch that installs a file writes a manifest that names the file. A file is removed when neither the manifest nor a snapshot
//     contains it. Erase and Drop unlink a file earlier, while snapshots have it open. Opening the index removes files that the manifest
//     does not name.
//   - Install and the background tasks replace the current snapshot, but never at the same time, because both hold the store.
//   - After Abandon or Drop, an index writes nothing to the store, because another index may use the same keys. Abandon and Drop do not
//     wait for the background tasks: their caller holds the store, for which a background task may be waiting.
//   - Merging in memory, sealing, and merging files are concurrent tasks (task.go), so that the number of segments in memory stays small
//     during a long merge of files.
//   - The choice of segments to merge depends only on their sizes and on whether a write burst is in progress (policy.go).
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
