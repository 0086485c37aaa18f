package segment

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Part is a segment with its tombstones in one snapshot of an index.
type Part struct {
	Segment *Segment
	// Dead holds the tombstones: the documents whose item was deleted or replaced. It is nil if there are none. The bitmap is immutable.
	// Each deletion creates a new bitmap, so the pointer identifies a state of the tombstones.
	Dead *roaring.Bitmap
}

// Lives reports whether a document has no tombstone.
func (p Part) Lives(doc uint32) bool { return p.Dead == nil || !p.Dead.Contains(doc) }

// Live returns the number of documents without a tombstone.
func (p Part) Live() int {
	if p.Dead == nil {
		return p.Segment.Len()
	}
	return p.Segment.Len() - int(p.Dead.GetCardinality())
}

// LiveIn returns the number of documents of a set that have no tombstone. A nil set is empty.
func (p Part) LiveIn(set *roaring.Bitmap) int64 {
	if set == nil {
		return 0
	}
	n := int64(set.GetCardinality())
	if p.Dead != nil {
		n -= int64(set.AndCardinality(p.Dead))
	}
	return n
}

// Find returns the live document of an item, or false if there is none.
func (p Part) Find(id item.ID) (doc uint32, ok bool) {
	doc, ok = p.Segment.Find(id)
	return doc, ok && p.Lives(doc)
}

// IDs returns the IDs of the items with live documents, in ascending order.
func (p Part) IDs() []item.ID {
	ids := make([]item.ID, 0, p.Live())
	for doc := range uint32(p.Segment.Len()) {
		if p.Lives(doc) {
			ids = append(ids, p.Segment.ID(doc))
		}
	}
	slices.Sort(ids)
	return ids
}
