package segment

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/query"
)

// Input is one segment that is merged, with the documents that are left out; nil for none.
type Input struct {
	Segment *Segment
	Dead    *roaring.Bitmap
}

// Gone stands for a document that a merge left out.
const Gone = math.MaxUint32

// Merge writes the file of one segment that holds the living documents of all inputs. maps[i][d] is the document that
// document d of input i has become, or Gone. It reads and writes from front to back; beside a few numbers for each
// document it holds nothing in memory. No item may live in two inputs.
func Merge(inputs []Input, w io.Writer) (maps [][]uint32, err error) {
	if _, err := io.WriteString(w, magic); err != nil {
		return nil, err
	}
	out := &output{w: w}
	m, sw, err := merge(inputs, out)
	if err != nil {
		return nil, err
	}
	sum := out.take()
	if out.err != nil {
		return nil, fmt.Errorf("write a merged segment: %w", out.err)
	}
	tail, err := trailer(sw.dir, out.off, checksums{items: sw.itemsSum, index: sum})
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(tail); err != nil {
		return nil, fmt.Errorf("write a merged segment: %w", err)
	}
	return m.maps, nil
}

// MergeInMemory is Merge into a segment in memory.
func MergeInMemory(inputs []Input) (*Segment, [][]uint32, error) {
	size := 0
	for _, in := range inputs {
		size += len(in.Segment.data)
	}
	out := &output{buf: make([]byte, 0, size)}
	m, sw, err := merge(inputs, out)
	if err != nil {
		return nil, nil, err
	}
	s, err := assemble(sw.dir, slices.Clip(out.buf))
	return s, m.maps, err
}

// merger merges.
type merger struct {
	inputs []Input
	maps   [][]uint32
	// from and doc tell of each new document which input it comes from and which document it was there.
	from []uint16
	doc  []uint32
	// fields[i][n] is the number that field n of input i gets, -1 when no living document has it.
	fields [][]int
	w      segmentWriter
}

func merge(inputs []Input, out *output) (*merger, *segmentWriter, error) {
	if len(inputs) > math.MaxUint16 {
		return nil, nil, fmt.Errorf("merge %d segments at once", len(inputs))
	}
	m := &merger{inputs: inputs, w: segmentWriter{out: out}}
	m.number()
	for n := range m.doc {
		m.w.item(m.inputs[m.from[n]].Segment.Item(m.doc[n]))
	}
	m.w.endItems()
	err := m.w.columns(len(m.doc), func(d uint32) (int64, int64) {
		s := m.inputs[m.from[d]].Segment
		return s.Created(m.doc[d]), s.ID(m.doc[d])
	})
	if err != nil {
		return nil, nil, err
	}
	m.w.units(len(m.doc), func(d uint32) []int64 { return m.inputs[m.from[d]].Segment.Units(m.doc[d]) })
	names, err := m.union()
	if err != nil {
		return nil, nil, err
	}
	m.terms(names)
	for i := range names {
		m.field(i)
	}
	return m, &m.w, nil
}

// number gives the living documents their new numbers.
func (m *merger) number() {
	next := make([]uint32, len(m.inputs))
	alive := func(i int) bool {
		in := m.inputs[i]
		for int(next[i]) < in.Segment.Len() && in.Dead != nil && in.Dead.Contains(next[i]) {
			m.maps[i][next[i]] = Gone
			next[i]++
		}
		return int(next[i]) < in.Segment.Len()
	}
	total := 0
	for _, in := range m.inputs {
		m.maps = append(m.maps, make([]uint32, in.Segment.Len()))
		total += in.Segment.Len()
	}
	m.from, m.doc = make([]uint16, 0, total), make([]uint32, 0, total)
	for {
		best := -1
		var created, id int64
		for i := range m.inputs {
			if !alive(i) {
				continue
			}
			s := m.inputs[i].Segment
			if c, d := s.Created(next[i]), s.ID(next[i]); best < 0 || Less(c, d, created, id) {
				best, created, id = i, c, d
			}
		}
		if best < 0 {
			return
		}
		m.maps[best][next[best]] = uint32(len(m.doc))
		m.from, m.doc = append(m.from, uint16(best)), append(m.doc, next[best])
		next[best]++
	}
}

// union numbers the fields that any living document has, by name.
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
				return nil, fmt.Errorf("merge segments in which the field %s has two types", e.Name)
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

// source is one input's dictionary while it is merged.
type source struct {
	walker
	input  int
	merged []byte // the present key, under the field's new number
	it     Iterator
	doc    uint32 // the new number of the iterator's document
}

// nextTerm goes to the next term of the source.
func (m *merger) nextTerm(s *source) bool {
	fields := m.fields[s.input]
	for s.next() {
		number := s.field()
		if number >= len(fields) {
			return false
		}
		if fields[number] >= 0 {
			s.merged = appendKey(s.merged[:0], fields[number], s.key[fieldKey:])
			return true
		}
	}
	return false
}

// nextDoc goes to the next living document of the present term.
func (m *merger) nextDoc(s *source) bool {
	for {
		d, ok := s.it.Next()
		if !ok {
			return false
		}
		if s.doc = m.maps[s.input][d]; s.doc != Gone {
			return true
		}
	}
}

// terms merges the dictionaries.
func (m *merger) terms(names []fieldEntry) {
	var live []*source
	for i, in := range m.inputs {
		s := &source{walker: walker{d: &in.Segment.dict, block: -1}, input: i}
		if m.nextTerm(s) {
			live = append(live, s)
		}
	}
	field := -1
	begin := func(n int) {
		for field < n {
			field++
			m.w.beginField(names[field].Name, names[field].Type, names[field].Private)
		}
	}
	var same []*source
	var key []byte
	var list []posting
	var positions []byte
	for len(live) > 0 {
		least := live[0]
		for _, s := range live[1:] {
			if bytes.Compare(s.merged, least.merged) < 0 {
				least = s
			}
		}
		key = append(key[:0], least.merged...)
		number := int(key[0])<<8 | int(key[1])
		begin(number)
		typ := names[number].Type
		same = same[:0]
		for _, s := range live {
			if bytes.Equal(s.merged, key) {
				s.it = s.postings().Iterator()
				if m.nextDoc(s) {
					same = append(same, s)
				}
			}
		}
		list, positions = list[:0], positions[:0]
		for len(same) > 0 {
			at := 0
			for i := range same {
				if same[i].doc < same[at].doc {
					at = i
				}
			}
			s := same[at]
			list = append(list, posting{doc: s.doc, freq: s.it.Freq()})
			if typ == query.Text {
				positions = s.it.appendPositions(positions)
			} else {
				m.w.dir.Fields[number].Terms++
			}
			if !m.nextDoc(s) {
				same = slices.Delete(same, at, at+1)
			}
		}
		if len(list) > 0 {
			list[0].positions = positions
			m.w.term(key, list, typ)
		}
		live = slices.DeleteFunc(live, func(s *source) bool { return bytes.Equal(s.merged, key) && !m.nextTerm(s) })
	}
	begin(len(names) - 1)
	m.w.endTerms()
}

// appendPositions appends the positions of the present document as they lie there.
func (i *Iterator) appendPositions(dst []byte) []byte {
	i.positions = skipVarints(i.positions, i.pending)
	i.pending = 0
	after := skipVarints(i.positions, uint64(i.freq))
	dst = append(dst, i.positions[:len(i.positions)-len(after)]...)
	i.positions, i.freq = after, 0
	return dst
}

// field writes presence and numbers of one field.
func (m *merger) field(number int) {
	e := &m.w.dir.Fields[number]
	words := make([]uint64, (len(m.doc)+63)/64)
	sources := make([]*Field, len(m.inputs))
	for i, in := range m.inputs {
		old := slices.Index(m.fields[i], number)
		if old < 0 {
			continue
		}
		f := &in.Segment.fields[old]
		sources[i] = f
		for it := f.Present().Iterator(); it.HasNext(); {
			if d := m.maps[i][it.Next()]; d != Gone {
				words[d/64] |= 1 << (d % 64)
			}
		}
	}
	present := roaring.FromDense(words, false)
	e.Docs = int(present.GetCardinality())
	if e.Docs == len(m.doc) {
		present = nil
	}
	w := &m.w
	w.presence(e, present)
	if !isNumber(e.Type) && e.Type != query.Text {
		return
	}
	e.Column = writeColumn(w.out, len(m.doc), present, func(d uint32) int64 {
		f := sources[m.from[d]]
		if f == nil {
			return 0
		}
		n, _ := f.numberAt(m.doc[d])
		return n
	})
	if e.Type != query.Text {
		return
	}
	for d := range uint32(len(m.doc)) {
		if f := sources[m.from[d]]; f != nil {
			e.Terms += int64(f.Length(m.doc[d]))
		}
	}
}
