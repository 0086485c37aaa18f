package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"math"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Doc is one item to be added to a segment.
type Doc struct {
	ID item.ID
	// Created is created_on in milliseconds since 1970, or math.MinInt64 for an item without created_on.
	Created int64
	// Units holds the item's own conversion units in their order.
	Units []int64
	// Bytes is the packed item. The segment stores it unchanged.
	Bytes item.Packed
	// Values holds all values by which queries can find the item, in any order. It does not include tags and units from manifests. A number
	// field has at most one distinct value.
	Values []Value
}

// Value is one value of one field.
type Value struct {
	Field query.Field
	query.Value
}

// NewDoc returns the document of an item.
func NewDoc(it *item.Item) Doc { return new(Scratch).NewDoc(it) }

// Scratch holds memory for documents and allows its reuse.
type Scratch struct {
	packer item.Packer
	bytes  []byte
	values []Value
}

// NewDoc returns the document of an item. The document is valid until Reset.
func (s *Scratch) NewDoc(it *item.Item) Doc {
	d := Doc{ID: it.ID, Created: it.CreatedMillis(), Units: it.Units}
	bytes, values := len(s.bytes), len(s.values)
	s.bytes = s.packer.Append(s.bytes, it)
	s.values = slices.Grow(s.values, usualValues)
	for f, v := range it.Values(nil, nil, it.Tags) {
		s.values = append(s.values, Value{f, v})
	}
	d.Bytes, d.Values = s.bytes[bytes:len(s.bytes):len(s.bytes)], s.values[values:len(s.values):len(s.values)]
	return d
}

// usualValues is the capacity for the values of one item. It is enough for most items.
const usualValues = 64

// Reset makes the memory available for reuse. After Reset, do not use documents that NewDoc has returned before.
func (s *Scratch) Reset() {
	clear(s.values)
	s.bytes, s.values = s.bytes[:0], s.values[:0]
}

// CorruptError reports that a file is damaged, incomplete or of another format.
type CorruptError struct {
	// Path is the path of the file. It is empty for bytes in memory.
	Path string
	// Section is the damaged section.
	Section string
	Reason  string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("segment %s is damaged: section %q: %s", e.Path, e.Section, e.Reason)
}

const (
	// magic is at the beginning and at the end of a file. Its last byte is the number of the format: that of the items in the file
	// (item.Format), plus the number of other changes of the content or the layout. Increase otherChanges for such a change.
	magic        = magicAny + string(rune('0'+item.Format+otherChanges))
	magicAny     = "VTRNSEG"
	otherChanges = 0
	footerSize   = 8 + 8 + 4 + 4 + 4 + 4 + len(magic)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Segment holds items and their index. It is immutable.
type Segment struct {
	path string
	dir  directory
	// data holds the items and the index. whole holds the bytes of the file that contains data, or is nil for a segment that was built in
	// memory.
	data   []byte
	whole  []byte
	unmap  func() error
	room   *Room
	fields []Field
	// These sections are read frequently.
	offsets, ids, created numbers
	byID                  []byte
	withUnits             *roaring.Bitmap
	dict                  dictionary
	checksums             checksums
	derived               atomic.Pointer[Derived]
}

// checksums holds the checksums in the footer.
type checksums struct{ items, index uint32 }

// assemble returns the segment that a directory and data describe.
func assemble(dir directory, data []byte) (*Segment, error) {
	s := &Segment{dir: dir, data: data}
	if dir.Dated > dir.Docs {
		return nil, &CorruptError{Section: "created", Reason: "it has more documents than the segment"}
	}
	for _, part := range []struct {
		name  string
		at    column
		count int
		into  *numbers
	}{
		{"offsets", dir.Offsets, dir.Docs + 1, &s.offsets}, {"ids", dir.IDs, dir.Docs, &s.ids}, {"created", dir.Created, dir.Dated, &s.created},
	} {
		if !part.into.open(s, part.at, part.count) {
			return nil, &CorruptError{Section: part.name, Reason: "its description is wrong"}
		}
	}
	if _, ok := s.bytes(dir.Items); !ok {
		return nil, &CorruptError{Section: "items", Reason: "its position or length is wrong"}
	}
	var err error
	var ok bool
	if s.byID, ok = s.bytes(dir.ByID); !ok || len(s.byID) != 4*dir.Docs {
		return nil, &CorruptError{Section: "by id", Reason: "its position or length is wrong"}
	}
	if s.withUnits, err = s.bitmap(dir.UnitDocs); err != nil {
		return nil, &CorruptError{Section: "units", Reason: err.Error()}
	}
	ends, ok := s.bytes(dir.UnitEnds)
	if _, ok2 := s.bytes(dir.Units); !ok || !ok2 || uint64(len(ends)) != 4*s.withUnits.GetCardinality() {
		return nil, &CorruptError{Section: "units", Reason: "its position or length is wrong"}
	}
	if s.dict, err = openDictionary(s); err != nil {
		return nil, err
	}
	s.fields = make([]Field, len(dir.Fields))
	for i := range dir.Fields {
		if err := s.fields[i].init(s, i); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// bytes returns the bytes of a section, or false if the section is out of bounds.
func (s *Segment) bytes(at span) ([]byte, bool) {
	end := at.Off + at.Len
	if end < at.Off || end > uint64(len(s.data)) {
		return nil, false
	}
	return s.data[at.Off:end:end], true
}

// bitmap returns a bitmap that is stored in the segment. It returns an empty bitmap for an empty section.
func (s *Segment) bitmap(at span) (*roaring.Bitmap, error) {
	b, ok := s.bytes(at)
	if !ok {
		return nil, errors.New("the position or length of a bitmap is wrong")
	}
	out := roaring.New()
	if len(b) == 0 {
		return out, nil
	}
	if _, err := out.FromBuffer(b); err != nil {
		return nil, err
	}
	if err := out.Validate(); err != nil {
		return nil, err
	}
	if !s.within(out) {
		return nil, errors.New("a bitmap contains documents that do not exist")
	}
	return out, nil
}

// within reports whether all documents of a bitmap exist in the segment.
func (s *Segment) within(b *roaring.Bitmap) bool {
	return b.IsEmpty() || int(b.Maximum()) < s.dir.Docs
}

// Path returns the path of the file, or "" if the segment is only in memory.
func (s *Segment) Path() string { return s.path }

// Len returns the number of documents, including deleted ones.
func (s *Segment) Len() int { return s.dir.Docs }

// ID returns the ID of a document's item.
func (s *Segment) ID(doc uint32) item.ID {
	return s.ids.at(int(doc))
}

// Created returns the created_on of a document in milliseconds since 1970, or math.MinInt64 if it has none.
func (s *Segment) Created(doc uint32) int64 {
	if int(doc) >= s.dir.Dated {
		return math.MinInt64
	}
	return s.created.at(int(doc))
}

// Find returns the document of an item, or false if there is none. The document may be deleted.
func (s *Segment) Find(id item.ID) (doc uint32, ok bool) {
	n := s.dir.Docs
	i := sort.Search(n, func(i int) bool { return s.ID(s.nthByID(i)) >= id })
	if i == n {
		return 0, false
	}
	doc = s.nthByID(i)
	return doc, s.ID(doc) == id
}

// nthByID returns the i-th document in the order of IDs. It limits a number from a damaged file to the valid range. This prevents a
// panic, but the returned document is wrong.
func (s *Segment) nthByID(i int) uint32 {
	return min(binary.LittleEndian.Uint32(s.byID[4*i:]), uint32(s.dir.Docs-1))
}

// Place returns the number of documents that come before an item in the default order. The segment does not need to contain the item.
func (s *Segment) Place(created int64, id item.ID) uint32 {
	return uint32(sort.Search(s.dir.Docs, func(i int) bool {
		// Read IDs only to break ties. They are in another section, so each read can miss the CPU cache.
		at := s.Created(uint32(i))
		return at < created || at == created && s.ID(uint32(i)) <= id
	}))
}

// Item returns the packed item of a document, or nil if its bytes are damaged. The bytes alias the segment's memory.
func (s *Segment) Item(doc uint32) item.Packed { return s.Stored(doc).Packed() }

// Stored is an item as a segment stores it: the packed item and its checksum.
type Stored []byte

// Stored returns the stored item of a document without reading it, or nil if a damaged offset is out of bounds. The bytes alias the
// segment's memory.
func (s *Segment) Stored(doc uint32) Stored {
	from, to := uint64(s.offsets.at(int(doc))), uint64(s.offsets.at(int(doc)+1))
	b, ok := s.bytes(span{s.dir.Items.Off + from, to - from})
	if !ok || to < from {
		return nil
	}
	return b
}

// Packed returns the packed item, or nil if it does not match its checksum.
func (s Stored) Packed() item.Packed {
	n := len(s) - itemSum
	if n < 0 || crc32.Checksum(s[:n], castagnoli) != binary.LittleEndian.Uint32(s[n:]) {
		return nil
	}
	return item.Packed(s[:n:n])
}

// itemSum is the size of the checksum of an item.
const itemSum = 4

// appendStored appends an item in its stored form.
func appendStored(dst []byte, packed item.Packed) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, packed...), crc32.Checksum(packed, castagnoli))
}

// Units returns the IDs of a document's own units in their order, or nil if there are none.
func (s *Segment) Units(doc uint32) []int64 {
	if !s.withUnits.Contains(doc) {
		return nil
	}
	return s.appendUnits(nil, int(s.withUnits.Rank(doc))-1)
}

// OwnUnits yields the documents that have units of their own, in ascending order, each with the result of Units. It takes much less time
// than calling Units for each document. The slice is valid only until the next iteration.
func (s *Segment) OwnUnits() iter.Seq2[uint32, []int64] {
	return func(yield func(uint32, []int64) bool) {
		var ids []int64
		n := 0
		for docs := s.withUnits.Iterator(); docs.HasNext(); n++ {
			if ids = s.appendUnits(ids[:0], n); !yield(docs.Next(), ids) {
				return
			}
		}
	}
}

// appendUnits appends the units of the n-th document with units, counted from 0.
func (s *Segment) appendUnits(ids []int64, n int) []int64 {
	ends, _ := s.bytes(s.dir.UnitEnds)
	units, _ := s.bytes(s.dir.Units)
	from := uint32(0)
	if n > 0 {
		from = binary.LittleEndian.Uint32(ends[4*(n-1):])
	}
	to := min(binary.LittleEndian.Uint32(ends[4*n:]), uint32(len(units)/8)) // in a damaged file, an end can be too high
	for ; from < to; from++ {
		ids = append(ids, int64(binary.LittleEndian.Uint64(units[8*from:])))
	}
	return ids
}

// ItemBytes returns the size of the items.
func (s *Segment) ItemBytes() int64 { return int64(s.dir.Items.Len) }

// IndexBytes returns the size of everything except the items.
func (s *Segment) IndexBytes() int64 { return int64(len(s.data)) - int64(s.dir.Items.Len) }

// Mapped reports whether Open opened the segment from a file. Otherwise, the segment is in the heap.
func (s *Segment) Mapped() bool { return s.unmap != nil }

// Fields yields the fields in which a document has a value, in the order of their names.
func (s *Segment) Fields() iter.Seq[*Field] {
	return func(yield func(*Field) bool) {
		for i := range s.fields {
			if !yield(&s.fields[i]) {
				return
			}
		}
	}
}

// Field returns a field by name, or nil if no document has a value in it.
func (s *Segment) Field(name string) *Field {
	i := sort.Search(len(s.fields), func(i int) bool { return s.dir.Fields[i].Name >= name })
	if i == len(s.fields) || s.dir.Fields[i].Name != name {
		return nil
	}
	return &s.fields[i]
}

// WriteTo writes the file of the segment. It implements io.WriterTo.
func (s *Segment) WriteTo(w io.Writer) (int64, error) {
	if s.whole != nil {
		n, err := w.Write(s.whole)
		return int64(n), err
	}
	itemsEnd := s.dir.Items.Off + s.dir.Items.Len
	tail, err := trailer(&s.dir, uint64(len(s.data)), checksums{
		items: crc32.Checksum(s.data[:itemsEnd], castagnoli),
		index: crc32.Checksum(s.data[itemsEnd:], castagnoli),
	})
	if err != nil {
		return 0, err
	}
	var n int64
	for _, part := range [][]byte{[]byte(magic), s.data, tail} {
		m, err := w.Write(part)
		if n += int64(m); err != nil {
			return n, err
		}
	}
	return n, nil
}

// trailer returns the bytes that follow the index in a file: the directory and the footer. length is the total length of the items and
// the index. sums.index is the checksum of the index.
func trailer(dir *directory, length uint64, sums checksums) ([]byte, error) {
	out := dir.append(nil)
	size := len(out)
	if err := fits("bytes in its directory", uint64(size)); err != nil {
		return nil, err
	}
	sums.index = crc32.Update(sums.index, castagnoli, out)
	out = binary.LittleEndian.AppendUint64(out, dir.Items.Off+dir.Items.Len)
	out = binary.LittleEndian.AppendUint64(out, length)
	out = binary.LittleEndian.AppendUint32(out, uint32(size))
	out = binary.LittleEndian.AppendUint32(out, sums.items)
	out = binary.LittleEndian.AppendUint32(out, sums.index)
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(out[size:], castagnoli))
	return append(out, magic...), nil
}
