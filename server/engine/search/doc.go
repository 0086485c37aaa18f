// Package search evaluates plans against segments: which documents match, with which of Lucene's scores, and in which
// order. Its answers equal those of package eval, the judge, bit by bit.
//
//   - A Corpus is one snapshot of a property: its segments with their tombstones, and the Overlay of what manifests put
//     beside the items.
//   - A Query is a plan bound to a Corpus: fuzzy words are replaced by the terms that they stand for, and where it is
//     ranked, the statistics of all live documents are known.
//   - Match gives the documents of one segment as a View that ignores tombstones, so that it holds for the life of
//     the segment. A Cache keeps it under the Query's Key.
//   - Page cuts any page of the live matches in any order out of the views; Top and Ordered rank them.
//   - What is worked out of a segment (views, statistics, lists of units) lies with the segment (segment.Derived) and goes
//     with it. The Cache of all corpora bounds the memory of views.
//
// Nothing that segments or caches hand out is ever written to; a set that a node has made for itself is changed in
// place. Bitmaps that Match returns may share memory with the segment: they are good for as long as the segment is open.
//
// It may import flight, segment, item, query and its subpackages, and eval for the shape of sort keys and explanations.
package search
