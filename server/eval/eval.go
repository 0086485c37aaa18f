// Package eval evaluates plans by walking documents in memory: matching, BM25 ranking, sort keys and explanations. It is
// the plain statement of what a query means, against which fast libraries are compared; good for some 100,000 items.
//
//   - A Doc is one item as it is searched: immutable, compact, made once for each state of the item.
//   - A Corpus is the documents that are ranked together, with the statistics that ranking needs.
//   - A Matcher is one plan bound to one state of a Corpus.
//   - Explain needs no Corpus: one Doc, and the Statistics of all others from whoever keeps them.
//
// It may import query and its subpackages, item, and library for the shape of explanations.
package eval
