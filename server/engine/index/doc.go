// Package index keeps the segments of one property: which there are, which of their documents are dead, and how they come
// and go.
//
// Each batch of the store makes one small segment in memory. Small ones are merged in memory; many are sealed into a file;
// files of about one size are merged into larger ones. What a reader sees is a Snapshot: a list of segments, each with a
// bitmap of its dead documents, that never changes. It keeps its files open and in place until it is released.
//
// # Invariants
//
//   - The store is the truth. A file that is lost or damaged is rebuilt from it, and no other file with it.
//   - An item lives in one document of one segment at most.
//   - A file is named by the manifest from the batch on that makes it needed, and removed when no manifest and no snapshot
//     names it any more. What lies there unnamed is removed when the index is opened.
//   - Snapshots are swapped by Install and by the background, never at the same time: both hold the store.
//   - An abandoned index (Abandon, Drop) writes nothing more to the store: another one may have its keys. The caller
//     of Abandon holds the store, so that neither waits for the background, which may be waiting for the store.
//   - Merging in memory, sealing and merging files are tasks that run beside one another (task.go): segments in memory are few
//     however long a merge of files takes.
//   - What to merge follows from sizes alone (policy.go).
//   - Bytes are held against their checksums before they are copied into another file.
//
// # Keys
//
// In the index's own space of the store, numbers big-endian:
//
//	key                                      value
//	p <property> NUL v                       uint64: the last batch that the index knows
//	p <property> NUL m                       JSON: the manifest, which files there are
//	p <property> NUL d <file>                a roaring bitmap: the file's dead documents, as of the manifest
//	p <property> NUL j <uint64> <uint64>     empty: the batch changed the item; taken away once a manifest covers it
//
// Where the store has seen a later batch of the property than v says, another library wrote it without its index, which is
// rebuilt.
//
// It may import segment, server/store, server/parallel, library, item and query.
package index
