// Package rank implements scoring exactly as in Lucene 10 (query language, "Rank"): BM25 over the one-byte length norm,
// phrase frequencies, the expansions of fuzzy words, the rewriting of groups, and the summation of clause scores.
// OpenSearch is the reference: where Lucene computes in 32 bits, this package does too, in the same order, so that it
// produces the same ties.
//
// This package does not depend on documents or indexes: the caller provides statistics and positions. It imports query,
// plan and automaton.
package rank
