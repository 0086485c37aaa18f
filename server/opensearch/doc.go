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
//	<prefix>-items-<property>    a document for each item
//
// # Files
//
//	cluster.go, bulk.go, errors.go          requests, and the errors that mean that the cluster is unavailable
//	answers.go                              what each request needs in its response
//	transport.go, health.go                 credentials and TLS; checks of the cluster and its state
//	indices.go, mapping.go, document.go     names, settings and mappings of indices; the document of an item
//	schema.go, generations.go               versions of mappings and documents; generations of indices of items
//	claim.go                                decides which replica does a task
//	rebuild.go, copy.go                     rebuild an index and copy its items while they change
//	eraser.go                               removes the bytes of deleted items from the files of the cluster
//	record.go, follow.go                    the definitions index: conditional writes, and following by sequence number
//	current.go                              limits the age of the definitions of this replica
//	definitions.go                          the methods of library.Library for definitions
//	view.go, translate.go, leaf.go          translate a plan to a search request
//	tagrules.go, unitrules.go               add the rules of manifests to search requests
//	selectors.go                            leave out selectors of rules that OpenSearch refuses
//	order.go, random.go, defaultorder.go    sort orders, and the places of cursors in them
//	read.go, display.go, boundary.go        pages: search, output and expiry
//	cbor.go, encoded.go                     decode hits and cache items
//	calls.go                                limits the concurrent reads and writes of a replica
//	fresh.go                                detects pages that have not changed since they were read
//	write.go, base.go, stored.go, ledger.go, tags.go    writes of items, and reads by id
//	source.go, target.go, cancel.go         copies to and from other libraries
//	facets.go                               the most frequent values of a field
//	explain.go, export.go, shortlink.go     the remaining methods
//
// The package may import definitions, eval, mutations, transfer, library, query and item.
package opensearch
