// Package rank holds what every library needs to score items exactly as Lucene 10 does (query language, "Rank"): BM25
// over the one-byte length norm, the frequency of phrases, the terms that a fuzzy word expands to, and the way in which
// groups are rewritten and the scores of clauses add up. OpenSearch is the judge: wherever Lucene computes in 32 bits, so
// does this package, in the same order, so that what ties there ties here.
//
// It knows nothing of documents or indexes: statistics and positions come from the caller. It imports query, plan and
// automaton.
package rank
