// Package search evaluates plans against segments: it finds the matching documents, computes their scores as Lucene does, and orders them.
// Its results are bit-identical to those of package eval, the reference.
//
//   - A Corpus is one snapshot of a property: its segments with their tombstones, and the Overlay: the tags and units that manifests add to
//     the items.
//   - A Query is a plan bound to a Corpus. Binding expands fuzzy words to terms. A ranked query also has the statistics of all live
//     documents.
//   - Counts counts the live matches. It needs no View for a single term.
//   - Match returns the documents of one segment as a View. A View ignores tombstones, so that it is valid for the life of the
//     segment. A Cache keeps it under the Query's Key.
//   - Page returns any page of the live matches in any order from the views. Top and Ordered rank them.
//   - CountValues counts the values of a field among the live matches.
//   - Data derived from a segment (views, statistics, lists of units) is kept with the segment (segment.Derived) and dropped with
//     it. One Cache for all corpora bounds the memory of views.
//
// The package never writes to data that segments and caches return. A set that a node has created for itself is changed in place. Bitmaps
// that Match returns may share memory with the segment, so they are valid only while the segment is open.
//
// It may import flight, segment, item, query and its subpackages, and eval for the shape of sort keys and explanations.
package search
