package segment

import (
	"encoding/binary"
	"errors"

	"github.com/vitrine-dev/vitrine/server/query"
)

// span is the place of a section: its offset and its length.
type span struct{ Off, Len uint64 }

// column describes where and how a column is stored. The column has one stored number of Width bytes for each document. If Sparse is true,
// it has stored numbers only for the documents with a value. The stored numbers have the same order as the numbers for which they stand:
//
//	without a table   number = Base + Scale × stored number
//	with a table      the stored number is an index in the table, which has Table distinct numbers of 8 bytes in ascending order
//
// The table comes before the stored numbers. Two columns with the same numbers can have the same span.
type column struct {
	span
	Width  int
	Base   int64
	Scale  uint64 // at least 1
	Table  int    // 0 if there is no table
	Sparse bool
}

// fieldEntry is the entry of a field in the directory.
type fieldEntry struct {
	Name    string
	Type    query.Type
	Private bool
	// Docs is the number of documents with a value. Terms is described at Field.Terms.
	Docs  int
	Terms int64
	// Worded is the number of documents whose text has at least one word. It is 0 if the field is not a text field.
	Worded int
	// First and End are the range [First, End) of the numbers that the terms of the field have in the dictionary.
	First, End uint32
	// Present is the place of the bitmap of documents with a value. It is empty if every document has a value.
	Present span
	Column  column
}

// directory describes the places of all sections. It has the following format in a file:
//
//	varint docs, varint number of documents with created_on, varint number of terms in the dictionary
//	spans of items, by id, unit docs, unit ends, units, blocks
//	columns of offsets, ids, created
//	varint number of fields
//	for each field, sorted by name:
//	  varint shared   number of bytes that the name shares with the previous name
//	  varint rest     number of bytes in the rest of the name
//	  bytes           the rest of the name
//	  byte            type
//	  byte            flags
//	  varint          number of documents with a value
//	  varint          sum of terms
//	  varint          number of terms in the dictionary (they follow the terms of the previous field)
//	  span            the field's presence
//	  for a number or text field: its column
//	  for a text field: varint number of documents whose text has at least one word
//
// A column consists of its span, a byte width, a zigzag varint base, a varint scale, and a varint number of entries in the table.
//
// A span consists of two varints: the distance from the end of the previous span (zigzag, 0 for an empty span), and the length.
type directory struct {
	Docs     int
	Dated    int // the number of documents with created_on, which come first
	Items    span
	ByID     span
	UnitDocs span
	UnitEnds span
	Units    span
	Blocks   span
	Offsets  column
	IDs      column
	Created  column
	Terms    uint32
	Fields   []fieldEntry // sorted by name
}

const (
	flagPrivate = 1 << iota
	flagSparse
)

// spans and columns return the spans and columns that every segment has.
func (d *directory) spans() []*span {
	return []*span{&d.Items, &d.ByID, &d.UnitDocs, &d.UnitEnds, &d.Units, &d.Blocks}
}

func (d *directory) columns() []*column { return []*column{&d.Offsets, &d.IDs, &d.Created} }

// append appends the encoded directory.
func (d *directory) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(d.Docs))
	b = binary.AppendUvarint(b, uint64(d.Dated))
	b = binary.AppendUvarint(b, uint64(d.Terms))
	end := uint64(0)
	put := func(s span) {
		if s.Len == 0 {
			s.Off = end
		}
		b = binary.AppendVarint(b, int64(s.Off-end))
		b = binary.AppendUvarint(b, s.Len)
		end = s.Off + s.Len
	}
	putColumn := func(c column) {
		put(c.span)
		b = append(b, byte(c.Width))
		b = binary.AppendVarint(b, c.Base)
		b = binary.AppendUvarint(b, c.Scale)
		b = binary.AppendUvarint(b, uint64(c.Table))
	}
	for _, s := range d.spans() {
		put(*s)
	}
	for _, c := range d.columns() {
		putColumn(*c)
	}
	b = binary.AppendUvarint(b, uint64(len(d.Fields)))
	name := ""
	for i := range d.Fields {
		e := &d.Fields[i]
		shared := commonPrefix([]byte(name), []byte(e.Name))
		name = e.Name
		b = binary.AppendUvarint(b, uint64(shared))
		b = binary.AppendUvarint(b, uint64(len(name)-shared))
		b = append(b, name[shared:]...)
		flags := byte(0)
		if e.Private {
			flags |= flagPrivate
		}
		if e.Column.Sparse {
			flags |= flagSparse
		}
		b = append(b, byte(e.Type), flags)
		b = binary.AppendUvarint(b, uint64(e.Docs))
		b = binary.AppendUvarint(b, uint64(e.Terms))
		b = binary.AppendUvarint(b, uint64(e.End-e.First))
		put(e.Present)
		if hasColumn(e.Type) {
			putColumn(e.Column)
		}
		if e.Type == query.Text {
			b = binary.AppendUvarint(b, uint64(e.Worded))
		}
	}
	return b
}

// errDirectory is the error for a directory that ends early or has bytes after its end.
var errDirectory = errors.New("its length is wrong")

// parseDirectory decodes a directory. It does not validate the values.
func parseDirectory(b []byte) (directory, error) {
	r := reader{rest: b}
	var d directory
	d.Docs, d.Dated, d.Terms = r.count(), r.count(), uint32(r.uvarint())
	end := uint64(0)
	get := func(s *span) {
		s.Off = end + uint64(r.varint())
		s.Len = r.uvarint()
		end = s.Off + s.Len
	}
	getColumn := func(c *column) {
		get(&c.span)
		c.Width, c.Base, c.Scale, c.Table = int(r.byte()), r.varint(), r.uvarint(), r.count()
	}
	for _, s := range d.spans() {
		get(s)
	}
	for _, c := range d.columns() {
		getColumn(c)
	}
	fields := r.count()
	if fields > len(r.rest) {
		return d, errDirectory
	}
	d.Fields = make([]fieldEntry, fields)
	var name []byte
	terms := uint32(0)
	for i := range d.Fields {
		e := &d.Fields[i]
		shared := r.count()
		if shared > len(name) {
			return d, errors.New("the prefix that a field name shares with the previous name is longer than the previous name")
		}
		name = append(name[:shared], r.bytes(r.count())...)
		e.Name = string(name)
		e.Type = query.Type(r.byte())
		flags := r.byte()
		e.Private, e.Column.Sparse = flags&flagPrivate != 0, flags&flagSparse != 0
		e.Docs, e.Terms = r.count(), int64(r.uvarint())
		e.First = terms
		terms += uint32(r.uvarint())
		e.End = terms
		get(&e.Present)
		if hasColumn(e.Type) {
			getColumn(&e.Column)
		}
		if e.Type == query.Text {
			e.Worded = r.count()
		}
	}
	if r.short || len(r.rest) > 0 {
		return d, errDirectory
	}
	return d, nil
}

// reader decodes a directory. If the bytes end too early, it sets the field `short`, and its methods return 0 or nil.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) end() {
	r.rest, r.short = nil, true
}

func (r *reader) uvarint() uint64 {
	n, rest, ok := uvarint(r.rest)
	if !ok {
		r.end()
		return 0
	}
	r.rest = rest
	return n
}

func (r *reader) varint() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.end()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// count reads a number and checks that it is at most maxCount.
func (r *reader) count() int {
	n := r.uvarint()
	if n > maxCount {
		r.end()
		return 0
	}
	return int(n)
}

// maxCount limits numbers that are later multiplied by the size of an offset or of a column entry, so that the product does not overflow.
const maxCount = 1 << 32

func (r *reader) bytes(n int) []byte {
	if n > len(r.rest) {
		r.end()
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}
