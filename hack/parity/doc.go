// Package parity compares Vitrine's query language with a real OpenSearch node. Both sides have the same items and get the same queries,
// and must return the same items, in the same order, and the same total. `make parity` runs the test TestParity:
//
//	go test ./hack/parity -run TestParity -v -url http://127.0.0.1:9200 [-corpus FILE,…] [-generate 2000] [-seeds 3] [-family NAME]
//	go test ./hack/parity -run TestParity -v -url http://127.0.0.1:9200 -queries FILE
//	go test ./hack/parity -run TestParity -v -url http://127.0.0.1:9200 -query 'love AND day'
//
// The flag -library selects the library that is compared with the node: the engine, the reference library, or the library on OpenSearch,
// which uses indices of its own on the same node.
//
// The queries are the curated queries of testdata/curated.txt, a query for each order by a field, and, for each seed, as many queries as
// -generate says, generated from the grammar and the corpus. With -queries, they are instead the queries in a file, one per line, such as
// the queries of filters to migrate. OpenSearch gets a query unchanged, except for parts that exist only in Vitrine's language: package
// querystring rewrites these. The test reduces a failing query to a shorter query that still fails. The corpus is testdata/messy.ndjson
// together with the files in -corpus or, without this flag, with the sample content.
package parity
