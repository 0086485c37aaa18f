// Package store is what the embedded libraries share: items and definitions in Pebble, and all of library.Library that
// does not find items. A library brings an Index, which follows the store batch by batch and answers the rest.
//
// # Invariants
//
//   - Pebble is the truth. What is in memory, and the index, are functions of it, and can be made anew at any time.
//   - One goroutine writes (see writer.go). It gathers the requests of concurrent callers, commits them in one batch with
//     one fsync, has the index and then the store make it visible and only then answers: what was acknowledged is durable
//     and visible, and a batch is there whole or not at all.
//   - Memory holds definitions, the tags that were ever made, hashes of the names of dynamic fields, and counts; no items.
//   - A refused or failed request has changed nothing, neither on disk nor in memory.
//   - After any I/O error the store is fenced off and opened anew before the next write; it can be read meanwhile.
//   - The bytes of what was deleted leave the files within a stated time, whatever happens to the process.
//
// # Files
//
// In the directory of a store: LOCK, held with an advisory lock while the store is open; LOCK.json, who holds it; and
// pebble, the database; for a moment, PROBE, by which a store that failed sees whether the disk takes writes again. Other
// names are the index's.
//
// # Keys
//
// Numbers are big-endian, so that they sort; NUL ends a name that another follows (no name holds one).
//
//	key                                           value
//	m format                                      JSON: format version, the oldest Vitrine that reads it
//	m store                                       16 random bytes that tell this store from any other
//	m author-key                                  32 random bytes: the key of author references
//	m version                                     uint64: number of batches so far
//	k <mark>                                      a mark of the operator
//	d <install> NUL <kind> <namespace> NUL <name> JSON: what one manifest brought (definitions.Entry)
//	e <uint64>                                    JSON: what that batch deleted and is not erased yet (erasure)
//	p <property> NUL c <code>                     uint64: the item with that short code
//	p <property> NUL d <uint64>                   empty: an item once had a dynamic field with a name of that keyed hash
//	p <property> NUL f <uuid>                     JSON: a filter made over HTTP (definitions.Entry)
//	p <property> NUL i <uint64>                   JSON: an item as item.Marshal writes it
//	p <property> NUL n                            uint64: the number of items
//	p <property> NUL s                            uint64: the highest item id ever drawn or imported
//	p <property> NUL t <namespace> NUL <key>      empty: the tag was once made
//	p <property> NUL u <uint64>                   JSON: a unit made over HTTP (definitions.Entry)
//	p <property> NUL v                            uint64: the batch that last changed the property
//	x …                                           the index's own
//
// All that belongs to a property but to no manifest shares one prefix, which is what a purge erases. An index that keeps
// the number of the last batch that it saw among its own keys finds out, in Load, whether another index wrote meanwhile:
// every batch comes to Prepare, and m version counts them all.
//
// # Format versions
//
//	1  without c, d, n, e and x
//	2  without d
//	3  as above
//
// It may import definitions, mutations, parallel, library, query and item.
package store
