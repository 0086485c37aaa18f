// Package parity compares the query language with a real OpenSearch node. Both have the same items and get the same queries. The
// total, the ids and the order must be equal. It contains one test, which `make parity` runs:
//
//	go test ./hack/parity -run TestParity -v -url http://127.0.0.1:9200 [-corpus FILE,…] [-generate 2000] [-seeds 3] [-family NAME]
//	go test ./hack/parity -run TestParity -v -url http://127.0.0.1:9200 -queries FILE
//	go test ./hack/parity -run TestParity -v -url http://127.0.0.1:9200 -query 'love AND day'
//
// The flag -library selects what is compared with the node: the engine, the reference, or the library on OpenSearch, which then
// answers from its own index on the same node.
//
// The queries are the curated ones of testdata/curated.txt, one for each order by a field, and -generate queries for each seed, generated
// from the grammar and the corpus. Alternatively, they are those of a file, one per line, such as filters to migrate. OpenSearch
// gets a query unchanged, unless a part of it exists only in this language; package querystring rewrites that. A failing query is
// reduced to the shortest one that still fails. The corpus is testdata/messy.ndjson together with the given files, or with the
// sample content if there are none.
package parity
