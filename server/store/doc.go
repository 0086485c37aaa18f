// Package store implements the parts that the embedded libraries (packages engine and reference) share: items and definitions in Pebble,
// and all methods of library.Library that do not search items. A library provides an Index, which the store updates with each batch, and
// implements the other methods with it.
//
// # Invariants
//
//   - Pebble is the source of truth. The data in memory and the index are derived from it, and can be rebuilt at any time.
//   - One goroutine writes (see writer.go). It collects the requests of concurrent callers, commits them in one batch with one fsync, makes
//     the batch visible in the index and then in the store, and replies after that. An acknowledged change is thus durable and visible. A
//     batch is atomic.
//   - Memory contains the definitions, all tags that were ever created, hashes of the names of dynamic fields, and counts, but no items.
//   - A refused request has changed nothing, neither on disk nor in memory. The exception is an I/O error in a commit: only reopening the
//     store shows whether the batch is on disk.
//   - After an I/O error, the store abandons the open database, which then cannot change files any longer, and tries to reopen it every
//     Options.RetryAfter. In the meantime, the store serves reads and refuses writes.
//   - Open never serves less than what was acknowledged. Before it opens the database for writing, it compares the files with the ledger,
//     and opens the database read-only to read what is kept in memory. If anything is missing or damaged, it fails and has changed no file.
//   - Close writes everything into tables, so that nothing depends on the log.
//   - The bytes of deleted data are removed from the files within Options.EraseWithin. The store records pending erasures, so that they
//     survive a restart.
//
// # Files
//
// The directory of a store contains these files. Other names belong to the index.
//
//   - LOCK has an advisory lock while the store is open, and LOCK.json describes the process that holds the lock.
//   - pebble is the directory of the database. In it, SYNCED is the ledger of package synced. A log whose damage was accepted (see
//     Options.AcceptLoss) is kept with the suffix .damaged.
//   - PROBE is a temporary file with which a failed store checks whether the disk accepts writes again.
//   - vitrine-backup.json (RestoredName) exists only in a directory that was filled from a backup and has not been opened since. When the
//     store is opened, it gets a new id, and the file is removed.
//
// # Keys
//
// Numbers are big-endian, so that they sort. NUL ends a name that is followed by another name. No name contains NUL.
//
//	key                                           value
//	m format                                      JSON: format version, the oldest Vitrine that reads it
//	m store                                       16 random bytes that identify this store
//	m author-key                                  32 random bytes: the key of author references
//	m transfer                                    only in an unfinished copy, which has no m format yet: the freeze of its source
//	m journal                                     8 random bytes that identify the journals: positions of other journals are not accepted
//	m version                                     uint64: number of batches so far
//	m deleted                                     uint64: number of items deleted so far, purged ones included
//	k <mark>                                      a mark of the operator
//	d <install> NUL <kind> <namespace> NUL <name> JSON: the definition of one manifest (definitions.Entry)
//	e <uint64>                                    JSON: the data deleted by the batch with that number and not erased yet (erasure)
//	p <property> NUL c <code>                     uint64: the item with that short code
//	p <property> NUL d <uint64>                   empty: an item has or had a dynamic field whose name has that keyed hash
//	p <property> NUL f <uuid>                     JSON: a filter created over HTTP (definitions.Entry)
//	p <property> NUL h <uint64>                   the history of the item with that id, as mutations.AddHistory writes it
//	p <property> NUL i <uint64>                   an item as item.Encode writes it
//	p <property> NUL j <uint64>                   the items that the batch with that number changed (see journal.go)
//	p <property> NUL k                            uint64: the batch of the newest deleted entry of the journal
//	p <property> NUL m                            empty: all times of the last change of its items came from imports
//	p <property> NUL n                            uint64: the number of items
//	p <property> NUL s                            uint64: the highest item id ever assigned or imported
//	p <property> NUL t <namespace> NUL <key>      empty: the tag was ever created
//	p <property> NUL u <uint64>                   JSON: a unit created over HTTP (definitions.Entry)
//	p <property> NUL v                            uint64: the batch that last changed the property
//	x …                                           keys of the index
//
// All keys of a property, except for definitions from manifests, have the same prefix, so a purge deletes one range of keys. An index can
// store the number of the last batch that it prepared under a key of its own. By comparing this number with m version, which counts all
// batches, Load can then detect that batches were written without this index.
//
// # Identity
//
// m store identifies a store, and not its contents: a store that is restored from a backup is another store, because the original may still
// run. Versions of pages and scheduled backups rely on this. A snapshot of a whole volume, however, is a copy that the store cannot
// recognize: it has the id of its original.
//
// The number of items plus m deleted is the number of items that were ever created. Like m version, it never falls in an intact store. A
// backup records both (see Census).
//
// # Journal
//
// The journal of a property lists the ids of changed items for Changes, and is written in the batch of the changes. m journal changes when a
// property is purged, when the store was restored from a backup, and when the loss of data was accepted. Then no earlier position of any
// property is accepted. The trim of old entries is a part of a batch, at most once a minute for all properties together, so entries stay
// longer in a store without writes. A journal contains only ids, so nothing has to be erased from it when an item is deleted.
//
// # Format versions
//
//	1  as above, without p <property> NUL m, without journals, and with items of format 1 (see item.Encoded)
//	2  as above
//
// This package may import synced, definitions, mutations, parallel, transfer, library, query and item.
package store
