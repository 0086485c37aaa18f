// Package reference is the small, obviously right content library: items and definitions in Pebble, everything
// evaluated by walking documents in memory. It is good for about 100,000 items, and it is the judge of faster libraries.
//
// # Invariants
//
//   - Pebble is the truth. What is in memory is a function of it and of the clock, and is made anew on every start.
//   - One goroutine writes (see writer). It gathers the requests of concurrent callers, commits them in one batch with
//     one fsync, brings memory up to date and only then answers: what was acknowledged is durable and visible, and a
//     batch is there whole or not at all.
//   - Readers hold the read lock for as long as they look, so that a page comes from one state.
//   - A refused or failed request has changed nothing, neither on disk nor in memory.
//   - After any I/O error the store is fenced off and opened anew before the next write; reads go on from memory.
//
// # Files
//
// In the directory of a store: LOCK, held with an advisory lock while the store is open; LOCK.json, who holds it; and
// pebble, the database; for a moment, PROBE, by which a store that failed sees whether the disk takes writes again.
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
//	d <install> NUL <kind> <namespace> NUL <name> JSON: what one manifest brought (ownedRecord)
//	p <property> NUL v                            uint64: the batch that last changed the property
//	p <property> NUL s                            uint64: the highest item id ever drawn or imported
//	p <property> NUL t <namespace> NUL <key>      empty: the tag was once made
//	p <property> NUL f <uuid>                     JSON: a filter made over HTTP (ownedRecord)
//	p <property> NUL u <uint64>                   JSON: a unit made over HTTP (ownedRecord)
//	p <property> NUL i <uint64>                   JSON: an item as item.Marshal writes it
//
// All that belongs to a property but to no manifest shares one prefix, which is what a purge erases.
//
// # Format versions
//
//	1  as above
//
// It may import library, query and item.
package reference
