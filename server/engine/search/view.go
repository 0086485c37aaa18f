package search

import (
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
)

// View is cached data about the documents of a segment: either the documents that match a query (including deleted ones), or an order. It
// is immutable, except that it caches which of its documents are deleted. It is valid as long as the segment is open. A view can also hold
// plain bits, or a number of live documents, which is valid only for the tombstones with which it was counted.
type View struct {
	// docs holds the documents. A sorted view shares them with the view from which it was made.
	docs *roaring.Bitmap
	// sorted lists the documents in another order; nil for the order of their numbers
	sorted []uint32
	// bits has one bit for each document of the segment. If it is set, docs and sorted are nil.
	bits []uint64

	// tally is set, and docs, sorted and bits are nil, if the view holds only a number of documents.
	tally *tally
	// lasting determines whether the view may go to a shelf.
	lasting Lasting
	// shelved is set if docs and sorted are in the file of a shelf instead of the heap.
	shelved bool

	died atomic.Pointer[died]

	// The Cache sets these fields: whether it keeps the view, whether the view was used since it became the newest, the derived data of the
	// segment, the key, the size, and the neighbors in the cache's list of views.
	kept, used atomic.Bool
	of         *derived
	key        string
	bytes      int64
	prev, next *View
}

// tally is the number of live documents that match a query, and the number of all live documents of the segment when they were counted.
// Tombstones are only added to a segment, so with an equal number of live documents, the tombstones are the same.
type tally struct {
	live  int
	found int64
}

// died caches the deleted documents of a view.
type died struct {
	// dead holds the tombstones of the segment from which the other fields were computed.
	dead *roaring.Bitmap
	// gone holds the deleted documents of the view; nil if there are none
	gone *roaring.Bitmap
	// holes holds the indexes of these documents in View.sorted, in ascending order.
	holes []uint32
}

// Docs returns the documents, including deleted ones. The bitmap is read-only.
func (v *View) Docs() *roaring.Bitmap { return v.docs }

// live returns the number of documents that have no tombstone.
func (v *View) live(dead *roaring.Bitmap) int64 {
	n := int64(v.docs.GetCardinality())
	if gone := v.gone(dead); gone != nil {
		n -= int64(gone.GetCardinality())
	}
	return n
}

// gone returns the documents of the view that have a tombstone, or nil if there are none.
func (v *View) gone(dead *roaring.Bitmap) *roaring.Bitmap {
	if dead == nil {
		return nil
	}
	if known := v.died.Load(); known != nil && known.dead == dead {
		return known.gone
	}
	now := &died{dead: dead, gone: goneOf(v.docs, dead)}
	v.died.Store(now)
	return now.gone
}

func goneOf(docs, dead *roaring.Bitmap) *roaring.Bitmap {
	if gone := roaring.And(docs, dead); !gone.IsEmpty() {
		return gone
	}
	return nil
}

// scanFrom determines how findHoles works: it scans all documents of a view if more than 1/scanFrom of them were deleted since the last
// call.
const scanFrom = 64

// holes returns the indexes of deleted documents in View.sorted, in ascending order. place returns the index of a document.
func (v *View) holes(dead *roaring.Bitmap, place func(doc uint32) int) []uint32 {
	if dead == nil {
		return nil
	}
	known := v.died.Load()
	if known != nil && known.dead == dead {
		return known.holes
	}
	now := &died{dead: dead, gone: goneOf(v.docs, dead)}
	if now.gone != nil {
		now.holes = v.findHoles(now.gone, known, place)
	}
	v.died.Store(now)
	return now.holes
}

// findHoles computes the result of holes. If few documents were deleted since known was computed, it looks up only those documents.
func (v *View) findHoles(gone *roaring.Bitmap, known *died, place func(doc uint32) int) []uint32 {
	fresh, before := gone, []uint32(nil)
	if known != nil && known.gone != nil && gone.AndCardinality(known.gone) == known.gone.GetCardinality() {
		fresh, before = roaring.AndNot(gone, known.gone), known.holes
	}
	if fresh.GetCardinality() > uint64(len(v.sorted)/scanFrom) {
		holes := make([]uint32, 0, gone.GetCardinality())
		for i, doc := range v.sorted {
			if gone.Contains(doc) {
				holes = append(holes, uint32(i))
			}
		}
		return holes
	}
	holes := make([]uint32, 0, len(before)+int(fresh.GetCardinality()))
	holes = append(holes, before...)
	for it := fresh.Iterator(); it.HasNext(); {
		holes = append(holes, uint32(place(it.Next())))
	}
	slices.Sort(holes)
	return holes
}
