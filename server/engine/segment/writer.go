package segment

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/query"
)

// maxNumber is the maximum of every count that a file stores in 32 bits. It is a variable, so that a test can lower it.
var maxNumber uint64 = math.MaxUint32 - 1

// fits returns an error if a count of the segment is too high for a file. Without this check, an overflow would silently cause wrong
// results.
func fits(what string, n uint64) error {
	if n > maxNumber {
		return fmt.Errorf("the segment would have %d %s, but a file can have at most %d", n, what, maxNumber)
	}
	return nil
}

// segmentWriter writes the sections of a segment. Call its methods in the order of the sections: items, columns, units, fields with their
// terms, and then the presence and numbers of each field.
type segmentWriter struct {
	out      *checksumWriter
	dir      directory
	offsets  []int64
	ids      []int64
	created  []int64 // of the documents that have created_on
	dict     dictionaryWriter
	postings postingsWriter
	itemsSum uint32
}

func newSegmentWriter(out *checksumWriter) *segmentWriter {
	return &segmentWriter{out: out, dict: dictionaryWriter{out: out}, postings: postingsWriter{out: out}}
}

// passItem reserves the space of an item of length bytes. The caller inserts the stored forms of all items later.
func (w *segmentWriter) passItem(length int) {
	w.offsets = append(w.offsets, int64(w.out.off))
	w.out.off += uint64(length + itemSum)
}

func (w *segmentWriter) item(s Stored) {
	w.offsets = append(w.offsets, int64(w.out.off))
	w.out.write(s)
}

func (w *segmentWriter) endItems() {
	w.offsets = append(w.offsets, int64(w.out.off))
	w.dir.Items = span{0, w.out.off}
	w.itemsSum = w.out.take()
	w.dir.Offsets = writeColumn(w.out, nil, w.offsets)
	w.offsets = nil
}

// columns writes the sections ids, created and by id.
func (w *segmentWriter) columns(docs int, of func(doc uint32) (created, id int64)) error {
	if err := fits("documents", uint64(docs)); err != nil {
		return err
	}
	w.dir.Docs, w.postings.docs = docs, docs
	ids, created := make([]int64, docs), make([]int64, docs)
	for d := range ids {
		if created[d], ids[d] = of(uint32(d)); created[d] != math.MinInt64 {
			w.dir.Dated++
		}
	}
	w.ids, w.created = ids, created[:w.dir.Dated]
	w.dir.IDs = writeColumn(w.out, nil, w.ids)
	w.dir.Created = writeColumn(w.out, nil, w.created)
	byID := make([]uint32, docs)
	for d := range byID {
		byID[d] = uint32(d)
	}
	slices.SortFunc(byID, func(a, b uint32) int { return cmp.Compare(ids[a], ids[b]) })
	for i := 1; i < docs; i++ {
		if ids[byID[i]] == ids[byID[i-1]] {
			return fmt.Errorf("item %d occurs twice", ids[byID[i]])
		}
	}
	w.dir.ByID = w.out.section(func() {
		for _, d := range byID {
			w.out.uint32(d)
		}
	})
	return nil
}

// units writes the documents' own units in their order.
func (w *segmentWriter) units(docs int, of func(doc uint32) []int64) error {
	var with []uint32
	var ends []uint32
	var units []int64
	for d := range uint32(docs) {
		if own := of(d); len(own) > 0 {
			with = append(with, d)
			units = append(units, own...)
			ends = append(ends, uint32(len(units)))
		}
	}
	if len(with) == 0 {
		return nil
	}
	if err := fits("units of items", uint64(len(units))); err != nil {
		return err
	}
	w.dir.UnitDocs = w.bitmap(roaring.BitmapOf(with...))
	w.dir.UnitEnds = w.out.section(func() {
		for _, e := range ends {
			w.out.uint32(e)
		}
	})
	w.dir.Units = w.out.section(func() {
		for _, u := range units {
			w.out.uint64(uint64(u))
		}
	})
	return nil
}

func (w *segmentWriter) bitmap(b *roaring.Bitmap) span {
	b.RunOptimize()
	text, _ := b.ToBytes() // writes to memory do not fail
	return w.out.section(func() { w.out.write(text) })
}

// beginField begins a field. Write fields in the order of their names, each followed by its terms.
func (w *segmentWriter) beginField(name string, typ query.Type, private bool) {
	w.endField()
	w.dict.field = len(w.dir.Fields)
	w.dir.Fields = append(w.dir.Fields, fieldEntry{Name: name, Type: typ, Private: private, First: uint32(w.dict.terms)})
}

func (w *segmentWriter) endField() {
	if n := len(w.dir.Fields); n > 0 {
		w.dir.Fields[n-1].End = uint32(w.dict.terms)
	}
}

// term writes one term of the current field. Write terms in byte order. shared is the length of the prefix that the term shares with the
// previous term of the field.
func (w *segmentWriter) term(text []byte, shared int, list postingList) {
	at := w.dict.place()
	written := w.postings.write(list)
	w.dict.add(text, shared, list, written, at)
}

// endTerms ends the last field and writes the dictionary's section `blocks`. It fails if the dictionary or the postings of a term are too
// large for a file.
func (w *segmentWriter) endTerms() (err error) {
	w.endField()
	if w.postings.err != nil {
		return w.postings.err
	}
	w.dir.Blocks, err = w.dict.finish()
	w.dir.Terms = uint32(w.dict.terms)
	return err
}

// values writes the documents that have a value in a field, and the numbers of these documents if the field has a column. present is nil if
// all documents have a value. numbers has a number for each document.
func (w *segmentWriter) values(e *fieldEntry, present *roaring.Bitmap, numbers []int64) {
	if present != nil {
		e.Present = w.bitmap(present)
	}
	switch {
	case !hasColumn(e.Type):
	// The fields id and created_on have the same numbers as the sections ids and created. Do not store these numbers again. Other fields can
	// also have them, such as content.created_on.
	case present == nil && slices.Equal(numbers, w.ids):
		e.Column = w.dir.IDs
	case present == nil && slices.Equal(numbers, w.created):
		e.Column = w.dir.Created
	default:
		e.Column = writeColumn(w.out, present, numbers)
	}
}
