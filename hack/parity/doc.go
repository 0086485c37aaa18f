// Package parity compares the query language with a real OpenSearch node: the same items in both, the same queries to both, and
// total, ids and order must be equal. It is one test, which `make parity` runs:
//
//	go test ./hack/parity -run TestParity -v -url http://127.0.0.1:9200 [-corpus FILE,…] [-n 2000] [-seeds 3] [-family NAME]
//	go test ./hack/parity -run TestParity -v -url http://127.0.0.1:9200 -queries FILE
//	go test ./hack/parity -run TestParity -v -url http://127.0.0.1:9200 -query 'love AND day'
//
// Queries are the curated ones of testdata/curated.txt, one for every order by a field, and, for each seed, -n generated
// ones over the grammar and what the corpus holds; or those of a file, one a line, such as filters that are to be migrated. A
// query goes to OpenSearch as it stands, unless something in it is this language's own: package querystring rewrites that.
// A query that fails is cut down to the shortest that still does. The corpus is testdata/messy.ndjson with the files given,
// or with the sample content where none is.
package parity
