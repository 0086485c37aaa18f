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
// The package never writes to data that segments and caches return. A node changes only sets that it has created itself. Bitmaps that
// Match returns may share memory with the segment, so they are valid only while the segment is open.
//
// The package may import flight, segment, item, query and its subpackages. It may also import eval, for the types of sort keys and
// explanations.
package search
