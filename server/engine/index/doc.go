// Package index maintains the segments of one property and their tombstones.
//
// Each batch of the store creates one or a few small segments in memory. The index merges small segments in memory, and seals segments
// into a file when they hold enough documents or bytes. It merges files of similar size into larger ones. Readers see a Snapshot: an
// immutable list of segments, each with a bitmap of its deleted documents. A Snapshot keeps its files open until it is released.
//
// # Invariants
//
//   - The store is the source of truth. A lost or damaged file is rebuilt from the store alone.
//   - An item has at most one live document in all segments.
//   - The batch that installs a file writes a manifest that names the file. A file is removed when neither the manifest nor a snapshot
//     contains it. Erase and Drop unlink a file earlier, even if snapshots still have it open. Opening the index removes files that the
//     manifest does not name.
//   - Install and the background tasks replace the current snapshot. They hold the store while they do so, so they never do it at the same
//     time.
//   - After Abandon or Drop, an index writes nothing to the store, because another index may use the same keys. Abandon and Drop do not
//     wait for the background tasks, because their caller holds the store, and a background task may be waiting for the store.
//   - Merging in memory, sealing, and merging files are concurrent tasks (task.go). The number of segments in memory therefore stays small
//     during a long merge of files.
//   - The choice of segments to merge depends only on their sizes and on the pace of the writes (policy.go, pace.go).
//   - A task verifies bytes against their checksums before it copies them into another file.
//
// # Keys
//
// The index has its own key space in the store. Numbers are big-endian:
//
//	key                                      value
//	p <property> NUL v                       uint64: the last batch that the index has seen
//	p <property> NUL m                       JSON: the manifest, which lists the files
//	p <property> NUL d <file>                roaring bitmap: the file's deleted documents when the manifest was written
//	p <property> NUL j <uint64> <uint64>     empty: this batch changed this item; the key is deleted when a manifest covers the batch
//
// If the store has a later batch of the property than v, that batch was written without the index. Open then rebuilds the index.
//
// The package may import segment, server/store, server/parallel, library, item and query.
package index
