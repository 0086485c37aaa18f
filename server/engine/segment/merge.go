package segment

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Gone replaces the new number of a document in the maps of a merge if the merge left out the document.
const Gone = math.MaxUint32

// Merge writes the file of a segment with the live documents of all inputs. maps[i][d] is the new number of document d of input i, or
// Gone. Merge reads and writes sequentially and keeps only a few numbers per document in memory. No item may have live documents in two
// inputs. Merge fails if the segment would exceed a count that a file can store.
func Merge(inputs []Part, w io.Writer) (maps [][]uint32, err error) {
	if _, err := io.WriteString(w, magic); err != nil {
		return nil, err
	}
	out := &checksumWriter{w: w}
	m, sw, err := merge(inputs, out)
	if err != nil {
		return nil, err
	}
	sum := out.take()
	if out.err != nil {
		return nil, fmt.Errorf("write a merged segment: %w", out.err)
	}
	tail, err := trailer(&sw.dir, out.off, checksums{items: sw.itemsSum, index: sum})
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(tail); err != nil {
		return nil, fmt.Errorf("write a merged segment: %w", err)
	}
	return m.maps, nil
}

// MergeInMemory is like Merge, but it creates a segment in memory.
func MergeInMemory(inputs []Part) (*Segment, [][]uint32, error) {
	size := 0
	for _, in := range inputs {
		size += len(in.Segment.data)
	}
	out := &checksumWriter{buf: make([]byte, 0, size)}
	m, sw, err := merge(inputs, out)
	if err != nil {
		return nil, nil, err
	}
	s, err := assemble(sw.dir, slices.Clip(out.buf))
	return s, m.maps, err
}

// merger is the state of a merge.
type merger struct {
	inputs []Part
	maps   [][]uint32
	// The new document n is the document doc[n] of the input from[n].
	from []uint16
	doc  []uint32
	// fields[i][n] is the new number of field n of input i, or -1 if no live document has a value in it.
	fields [][]int
	w      *segmentWriter
	terms  termMerger
	column []int64 // the numbers of the current field, by new document number
}

func merge(inputs []Part, out *checksumWriter) (*merger, *segmentWriter, error) {
	if len(inputs) > math.MaxUint16 {
		return nil, nil, fmt.Errorf("a merge takes at most %d segments, not %d", math.MaxUint16, len(inputs))
	}
	m := &merger{inputs: inputs, w: newSegmentWriter(out)}
	m.number()
	for n := range m.doc {
		m.w.item(m.inputs[m.from[n]].Segment.Stored(m.doc[n]))
	}
	m.w.endItems()
	err := m.w.columns(len(m.doc), func(d uint32) (int64, int64) {
		s := m.inputs[m.from[d]].Segment
		return s.Created(m.doc[d]), s.ID(m.doc[d])
	})
	if err != nil {
		return nil, nil, err
	}
	err = m.w.units(len(m.doc), func(d uint32) []int64 { return m.inputs[m.from[d]].Segment.Units(m.doc[d]) })
	if err != nil {
		return nil, nil, err
	}
	names, err := m.union()
	if err != nil {
		return nil, nil, err
	}
	m.column = make([]int64, len(m.doc))
	if err := m.mergeTerms(names); err != nil {
		return nil, nil, err
	}
	for i := range names {
		m.field(i)
	}
	return m, m.w, nil
}

// head is the next live document of an input.
type head struct {
	input   int
	doc     uint32
	created int64
	id      item.ID
}

// step moves to the next live document. It returns false if there is none.
func (m *merger) step(h *head) bool {
	in := m.inputs[h.input]
	for int(h.doc) < in.Segment.Len() && !in.Lives(h.doc) {
		m.maps[h.input][h.doc] = Gone
		h.doc++
	}
	if int(h.doc) == in.Segment.Len() {
		return false
	}
	h.created, h.id = in.Segment.Created(h.doc), in.Segment.ID(h.doc)
	return true
}

// number assigns new numbers to the live documents, in the default order.
func (m *merger) number() {
	var heads []head
	total := 0
	for i, in := range m.inputs {
		m.maps = append(m.maps, make([]uint32, in.Segment.Len()))
		total += in.Segment.Len()
		if h := (head{input: i}); m.step(&h) {
			heads = append(heads, h)
		}
	}
	m.from, m.doc = make([]uint16, 0, total), make([]uint32, 0, total)
	for len(heads) > 0 {
		best := 0
		for i := range heads[1:] {
			if h, b := &heads[i+1], &heads[best]; item.CompareNewest(h.created, h.id, b.created, b.id) < 0 {
				best = i + 1
			}
		}
		h := &heads[best]
		m.maps[h.input][h.doc] = uint32(len(m.doc))
		m.from, m.doc = append(m.from, uint16(h.input)), append(m.doc, h.doc)
		if h.doc++; !m.step(h) {
			heads = slices.Delete(heads, best, best+1)
		}
	}
}

// union collects the fields in which a live document has a value, and numbers them in the order of their names.
func (m *merger) union() ([]fieldEntry, error) {
	byName := map[string]fieldEntry{}
	for _, in := range m.inputs {
		numbers := make([]int, len(in.Segment.dir.Fields))
		for n, e := range in.Segment.dir.Fields {
			if numbers[n] = -1; in.Dead != nil && in.Segment.fields[n].Present().AndCardinality(in.Dead) == uint64(e.Docs) {
				continue
			}
			numbers[n] = 0
			known, ok := byName[e.Name]
			if ok && known.Type != e.Type {
				return nil, fmt.Errorf("merge segments: the field %s has two types", e.Name)
			}
			byName[e.Name] = fieldEntry{Name: e.Name, Type: e.Type, Private: e.Private}
		}
		m.fields = append(m.fields, numbers)
	}
	fields := slices.SortedFunc(maps.Values(byName), func(a, b fieldEntry) int { return strings.Compare(a.Name, b.Name) })
	for i, in := range m.inputs {
		for n, e := range in.Segment.dir.Fields {
			if m.fields[i][n] == 0 {
				m.fields[i][n], _ = slices.BinarySearchFunc(fields, e.Name, func(x fieldEntry, name string) int { return strings.Compare(x.Name, name) })
			}
		}
	}
	return fields, nil
}

// gather reads the values of one field of all inputs. It returns a bitmap of the new documents with a value. If the field has a column, it
// also copies the values to m.column.
func (m *merger) gather(number int) (words []uint64) {
	words = make([]uint64, (len(m.doc)+63)/64)
	clear(m.column)
	for i, in := range m.inputs {
		if f := in.Segment.Field(m.w.dir.Fields[number].Name); f != nil {
			m.gatherFrom(f, m.maps[i], words)
		}
	}
	return words
}

// gatherFrom does the same as gather for the field of one input. The slice to maps a document of the input to its number in the merged
// segment.
func (m *merger) gatherFrom(f *Field, to []uint32, words []uint64) {
	numbered := hasColumn(f.entry.Type)
	place := 0 // position in a sparse column
	take := func(doc uint32) {
		if d := to[doc]; d != Gone {
			words[d/64] |= 1 << (d % 64)
			if numbered {
				at := int(doc)
				if f.column.Sparse {
					at = place
				}
				m.column[d] = f.column.at(at)
			}
		}
		place++
	}
	if f.entry.Present.Len == 0 {
		for doc := range uint32(len(to)) {
			take(doc)
		}
		return
	}
	var buffer [256]uint32
	for it := f.Present().ManyIterator(); ; {
		n := it.NextMany(buffer[:])
		if n == 0 {
			return
		}
		for _, doc := range buffer[:n] {
			take(doc)
		}
	}
}

// field writes the presence and the numbers of one field. The caller must call it once for each field.
func (m *merger) field(number int) {
	e := &m.w.dir.Fields[number]
	words := m.gather(number)
	for _, w := range words {
		e.Docs += bits.OnesCount64(w)
	}
	var present *roaring.Bitmap
	if e.Docs < len(m.doc) {
		present = roaring.FromDense(words, false)
	}
	m.w.values(e, present, m.column)
	if e.Type == query.Text {
		for _, n := range m.column {
			e.Terms += n
			if n > 0 {
				e.Worded++
			}
		}
	}
}
