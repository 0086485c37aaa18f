// Package opensearch implements the content library on an OpenSearch cluster. Any number of processes (replicas) serve one library.
// The cluster stores everything. A replica keeps only the definitions in memory, and follows their changes.
//
// # Invariants
//
//   - The cluster is the source of truth. A write is acknowledged once the cluster has stored it and every search finds it.
//   - Replicas share no locks. Every change of a document names the sequence number of the state that it replaces. A replica that
//     loses a race reads the document again and repeats its decision.
//   - Every request can be repeated: a create has a fixed id and the token of its write, a change has a sequence number.
//   - Package query/plan defines what a query means, for every library. This package translates plans and adds no meaning.
//   - Tags and units that rules assign are part of the query and are never written into items.
//
// # Indices
//
// All names begin with Options.Prefix. Each name is an alias of an index with the same name and a generation number. A changed schema
// creates the next generation of an index of items. Each index has one primary shard, so that scores equal those of the other
// libraries.
//
//	<prefix>-definitions         one document for each definition and mark, and one with the keys of the library
//	<prefix>-facts               data that outlives items: a ledger for each property (the highest item id, and the sums of its
//	                             field names), and a document for each tag that ever existed
//	<prefix>-items-<property>    one document for each item
//
// # Files
//
//	cluster.go, bulk.go, errors.go   requests, responses, and which failures mean that the cluster is unavailable
//	transport.go, health.go          credentials and TLS; checks of the cluster and its state
//	indices.go, mapping.go           names, settings and mappings; document.go builds the document of an item
//	schema.go, generations.go        the versions of mappings and documents, and the generations of indices of items
//	claim.go                         which replica does a task
//	rebuild.go, copy.go              how an index is rebuilt, and how its items are copied while they change
//	eraser.go                        how bytes of deleted items leave the files of the cluster
//	record.go, follow.go             the definitions index: compare-and-set writes, and following by sequence number
//	current.go                       how old the definitions of this replica may be
//	definitions.go                   the methods of library.Library about definitions
//	view.go, translate.go, leaf.go   a plan as a search request; tagrules.go and unitrules.go add the rules of manifests
//	order.go, random.go, defaultorder.go   sort orders, and how a cursor continues in them
//	read.go, display.go, boundary.go pages: search, output and expiry; cbor.go decodes hits, encoded.go caches items
//	calls.go                         how many reads and writes a replica processes at the same time
//	fresh.go                         which pages have not changed since they were read
//	write.go, base.go, stored.go, ledger.go, tags.go  writes of items, and reads by id
//	source.go, target.go             copies to and from other libraries
//	facets.go                        the most frequent values of a field
//	explain.go, export.go, shortlink.go    the remaining methods
//
// It may import definitions, eval, mutations, transfer, library, query and item.
package opensearch
