// Package rank implements scoring exactly as in Lucene 10 (query language, "Rank"): BM25 over the one-byte length norm, phrase frequencies,
// the expansions of fuzzy words, the rewriting of groups, and the summation of clause scores. OpenSearch is the reference. Where Lucene
// computes in 32 bits, this package also computes in 32 bits and in the same order, so that it produces the same ties.
//
// This package does not depend on documents or indexes. The caller provides statistics and positions. This package may import query, plan
// and automaton.
package rank
