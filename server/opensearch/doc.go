// Package opensearch implements the content library on an OpenSearch cluster. Any number of processes (replicas) can serve one library.
// The cluster stores everything. A replica keeps only the definitions in memory and follows their changes.
//
// # Invariants
//
//   - The cluster is the source of truth. A replica acknowledges a write after the cluster has stored it and every search finds it.
//   - Replicas share no locks. Every change of a document names the sequence number of the state that it replaces. If another replica has
//     changed the document first, the replica reads it again and repeats its decision.
//   - Every request can be repeated: a create has a fixed id and the token of its write, and a change has a sequence number.
//   - Package query/plan defines the meaning of a query for every library. This package translates plans and adds no meaning.
//   - Tags and units that rules assign are part of the query. They are never written into items.
//
// # Indices
//
// All names begin with Options.Prefix. Each name is an alias of an index with the same name and a generation number. When a schema
// changes, the rebuilder creates the next generation of each index of items. Each index has one primary shard, so that scores equal those
// of the other libraries.
//
//	<prefix>-definitions         a document for each definition and each mark, and a document with the keys of the library
//	<prefix>-facts               data that outlives items: a ledger for each property (the highest item id, and the hashes of its
//	                             field names), and a document for each tag that exists or existed
//	<prefix>-items-<property>    a document for each item, and a tombstone for each item that was deleted recently. The aliases for searches
//	                             hide the tombstones. The operations of the index are the journal that Changes reads
//
// # Packages
//
// This package reads and writes items, implements the methods of library.Library, and copies libraries (Source, Target). It combines these
// packages, each of which may import only packages above it:
//
//	cluster      requests to the cluster, their responses and errors; credentials and TLS
//	schema       what the cluster stores: names of indices, mappings, the document of an item
//	translate    translates plans and sort orders to search requests, and adds the rules of manifests; sends no requests
//	indices      creates and describes indices, and the generations of indices of items; reads items by id
//	facts        the facts index: ledgers, tags, notes about data to erase, claims
//	records      the definitions index: conditional writes, and following by sequence number
//	upkeep       background tasks: rebuilds of indices, erasing, and the removal of tombstones
//
// The package may import definitions, eval, flight, mutations, transfer, library, query and item.
package opensearch
