package search

import (
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
)

// View is some documents of a segment: those that match a query, dead ones included, or an order. It is immutable, but for what it
// remembers of tombstones, and good for as long as the segment is open.
type View struct {
	// docs are the documents. A view with an order of its own shares them with the view that it was made of.
	docs *roaring.Bitmap
	// sorted are the documents in an order of their own; nil for the order of their numbers.
	sorted []uint32
	// bits are documents, one bit for each of the segment, or an outline; docs and sorted are nil then.
	bits []uint64

	died atomic.Pointer[died]

	// A Cache keeps these: what the view is of, its key and size, and its neighbours by time of use.
	of         *derived
	key        string
	bytes      int64
	prev, next *View
}

// died is what is known of the dead documents of a view.
type died struct {
	// dead are the tombstones of the segment for which this holds.
	dead *roaring.Bitmap
	// gone are those of the view's documents that are among them; nil for none.
	gone *roaring.Bitmap
	// holes are their places among View.sorted, rising.
	holes []uint32
}

// Docs returns the documents, dead ones included. The bitmap is read-only.
func (v *View) Docs() *roaring.Bitmap { return v.docs }

// live returns the number of documents that have no tombstone.
func (v *View) live(dead *roaring.Bitmap) int64 {
	n := int64(v.docs.GetCardinality())
	if gone := v.gone(dead); gone != nil {
		n -= int64(gone.GetCardinality())
	}
	return n
}

// gone returns the documents of a view that are among the dead of its segment; nil for none.
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

// scanFrom sets when holes walks over all documents: when more than one in scanFrom died since the last time.
const scanFrom = 64

// holes returns the places of the dead among View.sorted, rising. place finds a document among them.
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

// findHoles looks only for documents that died since known, where those are few.
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
