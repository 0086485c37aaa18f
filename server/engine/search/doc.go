// Package search evaluates plans against segments: it finds the matching documents, computes their scores as Lucene does, and orders them.
// Its results are bit-identical to those of package eval, the reference.
//
//   - A Corpus is one snapshot of a property: its segments with their tombstones, and an Overlay. The Overlay holds the tags and units that
//     manifests add to the items.
//   - A Query is a plan bound to a Corpus. Binding expands fuzzy words to terms. A ranked query also has the statistics of all live
//     documents.
//   - Counts counts the live matches. If they are not listed, it needs no View for most combinations of single terms, and at first none for
//     a pattern, a range of terms or a fuzzy word.
//   - Match returns the documents of one segment as a View. A View ignores tombstones, so it is valid for the life of the segment. A Cache
//     keeps it under the Query's Key.
//   - Page returns any page of the live matches from the views, in any order that needs no scores. Top and Ordered rank the matches by
//     scores. They need no View for a frequent word, or for a few terms joined by OR if at least one of them is frequent.
//   - CountValues counts the values of a field among the live matches.
//   - Data derived from a segment (views, statistics, lists of units) is kept with the segment (segment.Derived) and dropped with the
//     segment. One Cache for all corpora limits the memory of the views.
//
// # Files
//
// The files call each other mostly from the top to the bottom:
//
//	facets.go, boundary.go                       values of a field; the time at which the matches change
//	order.go, page.go, stream.go                 pages of the matches in an order that needs no scores
//	top.go, best.go, contest.go                  the best matches by score
//	bind.go, statistics.go                       bind a plan to a corpus
//	clause.go, scoring.go, runner_*.go           scores, block by block
//	node.go, leaf.go, leaf_*.go, frequent.go     documents that match
//	corpus.go, tags.go, units.go, unitlists.go   a snapshot, and what rules add to its items
//	cache.go, shelf.go, view.go                  the views of a segment, in memory and in a file
//	memo.go, scoretable.go                       what else is kept with a segment
//	terms.go, kind.go, set.go, block.go, hit.go  the small types that the others share
//
// The package never writes to data that segments and caches return. A node changes only sets that it has created itself. Bitmaps that
// Match returns may share memory with the segment, so they are valid only while the segment is open.
//
// The package may import flight, scratch, segment, eval, and the domain.
package search
