// Package eval evaluates plans by walking documents in memory: matching, BM25 ranking, sort keys and explanations. It defines the meaning
// of a query in a simple form that is not optimized. Faster implementations must return the same results.
//
//   - A Doc is one item in searchable form.
//   - A Corpus contains the documents that are ranked together.
//   - A Matcher is one plan bound to a Corpus.
//   - Explain needs no Corpus, only one Doc and the rank.Statistics of all documents. Every library uses it.
//   - A Place is the position of an item in a listing. The cursors of every library contain one.
//
// This package may import query and its subpackages, item, and library (for the type of explanations).
package eval
