package search

import (
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
)

// View is a set of documents of a segment: those that match a query, including deleted ones, or an order. It is immutable, except that
// it caches its dead documents. It is valid as long as the segment is open.
type View struct {
	// docs are the documents. A sorted view shares them with the view from which it was made.
	docs *roaring.Bitmap
	// sorted are the documents in another order; nil for the order of their numbers.
	sorted []uint32
	// bits are documents, one bit for each of the segment, or an outline. docs and sorted are then nil.
	bits []uint64

	died atomic.Pointer[died]

	// The Cache sets these: the data of the segment, the key, the size, and the neighbours by time of use.
	of         *derived
	key        string
	bytes      int64
	prev, next *View
}

// died is the cached state of a view's dead documents.
type died struct {
	// dead are the tombstones of the segment that this state is for.
	dead *roaring.Bitmap
	// gone are the view's documents that are dead; nil for none.
	gone *roaring.Bitmap
	// holes are their indexes in View.sorted, ascending.
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

// gone returns the documents of a view that are dead in its segment; nil for none.
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

// scanFrom: holes scans all documents if more than 1/scanFrom of them died since the last time.
const scanFrom = 64

// holes returns the indexes of the dead in View.sorted, ascending. place returns the index of a document.
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

// findHoles searches only for documents that died since known, if those are few.
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
