package segment

import (
	"iter"

	"github.com/RoaringBitmap/roaring/v2"
)

// TermIterator iterates over the terms of a field in byte order. Unlike with Field.Ascend, a caller can iterate over several segments at
// once. A TermIterator is not safe for concurrent use.
type TermIterator struct {
	w      walker
	number int
	first  int // the number of the field's first term in the dictionary
	valid  bool
}

// TermIterator returns an iterator at the first term that is at least `from`.
func (f *Field) TermIterator(from string) *TermIterator {
	t := &TermIterator{w: walker{d: &f.s.dict}, number: f.number, first: int(f.entry.First)}
	if f.entry.First < f.entry.End {
		t.valid = t.w.seek(f, f.appendKey(nil, from)) && t.w.field() == t.number
	}
	return t
}

// Valid reports whether the iterator is at a term.
func (t *TermIterator) Valid() bool { return t.valid }

// Next moves to the next term.
func (t *TermIterator) Next() { t.valid = t.w.next() && t.w.field() == t.number }

// Term returns the current term. The bytes are valid until Next.
func (t *TermIterator) Term() []byte { return t.w.key[fieldKey:] }

// Len returns the number of documents that have the current term, including deleted ones.
func (t *TermIterator) Len() int { return t.w.docs }

// Postings returns the postings of the current term.
func (t *TermIterator) Postings() Postings { return t.w.postings() }

// Ordinal returns the ordinal of the current term, counted from 0 within the field (see Field.Ordinals).
func (t *TermIterator) Ordinal() int { return t.w.number() - t.first }

// Docs is a set of documents of a segment. It is stored both as a bitmap and as plain bits, with one bit for each document of the
// segment.
type Docs struct {
	Bitmap *roaring.Bitmap
	Bits   []uint64
}

// has reports whether the set contains a document.
func (d Docs) has(doc uint32) bool { return d.Bits[doc>>6]&(1<<(doc&63)) != 0 }

// CountIn returns the number of documents that are both in the postings and in a set.
func (p Postings) CountIn(set Docs) int {
	if p.docs == 1 {
		if set.has(p.doc) {
			return 1
		}
		return 0
	}
	kind, docs, _ := p.documents()
	if kind == bitmapped {
		return int(set.Bitmap.AndCardinality(p.Bitmap()))
	}
	n, buffer := 0, [bitmapFrom]uint32{}
	for _, doc := range appendListed(buffer[:0], docs, p.s.dir.Docs) {
		n += int(set.Bits[doc>>6] >> (doc & 63) & 1)
	}
	return n
}

// CountOrdinals returns a count for each ordinal: the number of documents of a set that have the term. Documents must have at most one
// term in the field. CountOrdinals uses Ordinals.
func (f *Field) CountOrdinals(set *roaring.Bitmap) []uint32 {
	ordinals, counts := f.Ordinals(), make([]uint32, f.Distinct()+1)
	var buffer [256]uint32
	for it := set.ManyIterator(); ; {
		n := it.NextMany(buffer[:])
		if n == 0 {
			return counts[1:]
		}
		for _, doc := range buffer[:n] {
			if o := int(ordinals[doc]); o < len(counts) { // always true, unless the file is damaged
				counts[o]++
			}
		}
	}
}

// countedWidth is the maximum width in bytes of a column for which Numbers counts in an array.
const countedWidth = 2

// Numbers yields the numbers of a set of documents, each with a count of documents, in any order. It can yield a number several times.
// The total count of such a number is the sum of its counts. Numbers yields a Double as its bits.
func (f *Field) Numbers(set Docs) iter.Seq2[int64, int64] {
	return func(yield func(number, count int64) bool) {
		f.PrefetchColumn()
		switch {
		case !isNumber(f.entry.Type):
		case f.column.Width <= countedWidth:
			counts := make([]int64, 1<<(8*f.column.Width))
			f.places(set, func(place int) bool {
				counts[f.column.stored(place)]++
				return true
			})
			for i, n := range counts {
				if n > 0 && !yield(f.column.number(uint64(i)), n) {
					return
				}
			}
		default:
			f.places(set, func(place int) bool { return yield(f.column.at(place), 1) })
		}
	}
}

// places calls use with the column position of each document of a set, until use returns false.
func (f *Field) places(set Docs, use func(place int) bool) {
	docs := set.Bitmap
	if f.entry.Present.Len > 0 {
		docs = f.Present()
	}
	var buffer [256]uint32
	place := 0
	for it := docs.ManyIterator(); ; {
		n := it.NextMany(buffer[:])
		if n == 0 {
			return
		}
		for _, doc := range buffer[:n] {
			if !f.column.Sparse {
				place = int(doc)
			}
			if set.has(doc) && !use(place) {
				return
			}
			place++
		}
	}
}
