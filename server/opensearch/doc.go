// Package opensearch is the content library on an OpenSearch cluster. Any number of processes (replicas) serve one library:
// the cluster holds everything, and a replica keeps in memory only the definitions, which it follows.
//
// # Invariants
//
//   - The cluster is the truth. A write is acknowledged once the cluster has stored it and every search finds it.
//   - Nothing is locked. Every change of a document names the sequence number that it was read with; a replica that loses
//     reads again and decides again.
//   - Every request can be sent again: creates have a fixed id and a token of their write, changes a sequence number.
//   - What a query means comes from query/plan, as in every library. This package translates a plan and adds no meaning.
//   - Tags and units by rule are part of the query and are never written into items.
//
// # Indices
//
// All names begin with Options.Prefix. Each is an alias of an index with the same name and a generation behind it. Each index has
// one shard unless Options say otherwise.
//
//	<prefix>-definitions         one document for each definition and mark, and one with the keys of the library
//	<prefix>-facts               what outlives items: a ledger for each property (the highest item id, and the sums of its
//	                             field names), and one document for each tag that was ever made
//	<prefix>-items-<property>    one document for each item
//
// # Files
//
//	cluster.go, bulk.go, errors.go   requests, answers, and which failures mean that the cluster is unavailable
//	transport.go, health.go          credentials and TLS; whether the cluster is one that serves the library
//	indices.go, mapping.go           names, settings and mappings; document.go makes an item's document
//	record.go, follow.go             the definitions index: compare-and-set writes, and following by sequence number
//	definitions.go                   the methods of library.Library about definitions
//	view.go, translate.go, leaf.go   a plan as a search request; tagrules.go and unitrules.go add what manifests bring
//	order.go, random.go, defaultorder.go   orders, and how cursors continue in them
//	read.go, display.go, boundary.go pages: finding, showing, and until when they hold
//	write.go, base.go, ledger.go, tags.go  writes of items
//	explain.go, export.go, shortlink.go    the rest
//
// It may import definitions, eval, mutations, library, query and item.
package opensearch
