// Package rank implements scoring exactly as in Lucene 10 (see "Rank" in the documentation of the query language): BM25 over the one-byte
// length norm, phrase frequencies, the expansions of fuzzy words, the rewriting of groups, and the summation of clause scores. OpenSearch
// is the reference. Where Lucene computes in 32 bits, this package does so too, and in the same order, so that equal scores in Lucene are
// also equal here.
//
// This package does not depend on documents or indexes. The caller provides statistics and positions. This package may import query, plan
// and automaton.
package rank
