package search

import (
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// set is a set of documents of a segment. The zero set is empty.
type set struct {
	bitmap *roaring.Bitmap // nil when empty
	// owned is true if the holder of the set owns the bitmap and may change it. Other bitmaps are read-only.
	owned bool
}

func owned(b *roaring.Bitmap) set    { return set{bitmap: b, owned: true} }
func borrowed(b *roaring.Bitmap) set { return set{bitmap: b} }

func (s set) isEmpty() bool { return s.bitmap == nil || s.bitmap.IsEmpty() }

func (s set) len() int64 {
	if s.bitmap == nil {
		return 0
	}
	return int64(s.bitmap.GetCardinality())
}

// docs yields the documents in ascending order.
func (s set) docs(yield func(doc uint32) bool) {
	if s.bitmap == nil {
		return
	}
	for it := s.bitmap.Iterator(); it.HasNext(); {
		if !yield(it.Next()) {
			return
		}
	}
}

// published returns the bitmap for callers that only read it. It returns an empty bitmap instead of nil.
func (s set) published() *roaring.Bitmap {
	if s.bitmap == nil {
		return roaring.New()
	}
	return s.bitmap
}

// everything returns all documents of a segment with n documents. between returns the documents in [from, to).
func everything(n int) set { return between(0, uint32(n)) }

func between(from, to uint32) set {
	if from >= to {
		return set{}
	}
	b := roaring.New()
	b.AddRange(uint64(from), uint64(to))
	return owned(b)
}

func and(a, b set) set {
	switch {
	case a.isEmpty() || b.isEmpty():
		return set{}
	case a.owned:
		a.bitmap.And(b.bitmap)
		return a
	case b.owned:
		b.bitmap.And(a.bitmap)
		return b
	}
	return owned(roaring.And(a.bitmap, b.bitmap))
}

func andNot(a, b set) set {
	switch {
	case a.isEmpty() || b.isEmpty():
		return a
	case a.owned:
		a.bitmap.AndNot(b.bitmap)
		return a
	}
	return owned(roaring.AndNot(a.bitmap, b.bitmap))
}

func or(sets []set) set {
	sets = slices.DeleteFunc(sets, set.isEmpty)
	switch len(sets) {
	case 0:
		return set{}
	case 1:
		return sets[0]
	case 2:
		a, b := sets[0], sets[1]
		if !a.owned {
			a, b = b, a
		}
		if a.owned {
			a.bitmap.Or(b.bitmap)
			return a
		}
	}
	bitmaps := make([]*roaring.Bitmap, len(sets))
	for i, s := range sets {
		bitmaps[i] = s.bitmap
	}
	return owned(roaring.FastOr(bitmaps...))
}

// union collects the documents of any number of terms. It keeps common terms as bitmaps. It keeps the documents of all other terms in a
// list, or as plain bits if there are many.
type union struct {
	docs  int    // number of documents in the segment
	cache *Cache // where count takes plain bits from and returns them to; may be nil
	few   []uint32
	dense []uint64
	large []set
}

// fewDocs is the maximum number of documents in a union's list. A term is common if more than 1/largeShare of all documents contain it.
const (
	fewDocs    = 256
	largeShare = 256
)

// newUnion returns an empty union for a segment with a number of documents. The caller passes the Cache only if it will call count.
func newUnion(docs int, c *Cache) *union { return &union{docs: docs, cache: c} }

func (u *union) add(p segment.Postings) {
	n := p.Len()
	switch {
	case n == 0:
	case n > 64 && n > u.docs/largeShare:
		u.large = append(u.large, borrowed(p.Bitmap()))
		if len(u.large) == 64 {
			u.large = append(u.large[:0], or(slices.Clone(u.large)))
		}
	case u.dense == nil && len(u.few)+n <= fewDocs:
		u.few = p.AppendTo(u.few)
	default:
		u.spread()
		p.AddTo(u.dense)
	}
}

// spread copies the list to plain bits, unless the union has plain bits already.
func (u *union) spread() {
	if u.dense != nil {
		return
	}
	u.dense = *u.cache.newBits((u.docs + 63) / 64)
	clear(u.dense)
	for _, doc := range u.few {
		u.dense[doc/64] |= 1 << (doc % 64)
	}
}

// count returns the number of documents, without those in dead. dead has one bit for each document, and is nil if there are no tombstones.
// Do not use the union after count.
func (u *union) count(dead []uint64) int64 {
	n := 0
	if u.dense == nil && len(u.large) == 0 {
		slices.Sort(u.few)
		for _, doc := range slices.Compact(u.few) {
			if dead == nil || dead[doc/64]>>(doc%64)&1 == 0 {
				n++
			}
		}
		return int64(n)
	}
	u.spread()
	dense := u.dense // not &u.dense, which would keep u in memory
	defer u.cache.putBits(&dense)
	more := u.cache.newBits(len(u.dense))
	defer u.cache.putBits(more)
	for _, s := range u.large {
		if s.isEmpty() { // only if the file is damaged
			continue
		}
		clear(*more)
		segment.WriteBits(s.bitmap, *more)
		for i, w := range *more {
			u.dense[i] |= w
		}
	}
	for i, w := range u.dense {
		if dead != nil {
			w &^= dead[i]
		}
		n += bits.OnesCount64(w)
	}
	return int64(n)
}

func (u *union) set() set {
	switch {
	case u.dense != nil:
		u.large = append(u.large, owned(roaring.FromDense(u.dense, false)))
	case len(u.few) > 0:
		slices.Sort(u.few)
		u.large = append(u.large, owned(roaring.BitmapOf(u.few...)))
	}
	return or(u.large)
}
