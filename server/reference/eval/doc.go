package eval

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"
	"unique"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// term is a word or lower-cased keyword, or the name of a field. Equal terms share one copy of their bytes, and compare
// as fast as pointers.
type term = unique.Handle[string]

// Doc is an item as it is searched: terms with their positions, and numbers. It is immutable and safe for concurrent
// use. An item of some sixty values takes about 3 KiB, the bytes of rare terms apart.
type Doc struct {
	id      int64
	created int64
	fields  []field // by name
	terms   []term  // of all text and keyword fields; within a field by bytes, each once
	// places[i] is where the positions of terms[i] end; those of keywords are empty.
	places    []uint32
	positions []uint32
	// numbers holds Long, Date and Boolean values as they are, and Double values by their bits; within a field in the
	// order of the values, each once.
	numbers []int64
}

// field is one field of a Doc that has at least one value.
type field struct {
	name term
	// from and to enclose the values in Doc.terms or Doc.numbers.
	from, to uint32
	typ      query.Type
	norm     byte // rank.EncodeLength of the number of words
	length   uint32
}

// NewDoc makes the document of an item from all its values. created is the item's created_on in milliseconds, by which
// ties are broken. Empty keywords and texts without words count as missing (query language, "Fields"); the words of
// plan.AllField are expected among the values under that name.
func NewDoc(id, created int64, values iter.Seq2[query.Field, query.Value]) *Doc {
	b := docBuilder{fields: map[string]*fieldBuilder{}}
	for f, v := range values {
		b.add(f, v)
	}
	return b.doc(id, created)
}

// ID returns the item's identifier.
func (d *Doc) ID() int64 { return d.id }

// Created returns the item's created_on in milliseconds since 1970.
func (d *Doc) Created() int64 { return d.created }

// Has reports whether the document has a value in the named field.
func (d *Doc) Has(name string) bool { return d.field(unique.Make(name), new(int)) != nil }

// Names yields the names of the fields that the document has values in, in byte order.
func (d *Doc) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range d.fields {
			if !yield(d.fields[i].name.Value()) {
				return
			}
		}
	}
}

// field returns a field, nil where the document does not have it. hint is where it was found in the last document:
// most have it in the same place.
func (d *Doc) field(name term, hint *int) *field {
	if h := *hint; h < len(d.fields) && d.fields[h].name == name {
		return &d.fields[h]
	}
	for i := range d.fields {
		if d.fields[i].name == name {
			*hint = i
			return &d.fields[i]
		}
	}
	return nil
}

// find returns the index of a term of a field in d.terms.
func (d *Doc) find(f *field, t term) (int, bool) {
	for i, have := range d.termsOf(f) {
		if have == t {
			return int(f.from) + i, true
		}
	}
	return 0, false
}

// termsOf returns the terms of a field, none for numbers.
func (d *Doc) termsOf(f *field) []term {
	if !f.hasTerms() {
		return nil
	}
	return d.terms[f.from:f.to]
}

// at returns the positions of d.terms[i].
func (d *Doc) at(i int) []uint32 {
	from := uint32(0)
	if i > 0 {
		from = d.places[i-1]
	}
	return d.positions[from:d.places[i]]
}

// freq returns how often d.terms[i] stands in its field f; keywords count once.
func (d *Doc) freq(f *field, i int) float32 {
	if f.typ != query.Text {
		return 1
	}
	return float32(len(d.at(i)))
}

// docBuilder gathers the values of an item, which may come in any order.
type docBuilder struct {
	fields map[string]*fieldBuilder
}

type fieldBuilder struct {
	typ     query.Type
	terms   []occurrence
	numbers []int64
	last    int // the position of the last word
	values  int
	length  uint32
}

// occurrence is one word at one position, or one keyword.
type occurrence struct {
	text     string
	position uint32
}

func (b *docBuilder) add(f query.Field, v query.Value) {
	fb := b.fields[f.Name]
	if fb == nil {
		fb = &fieldBuilder{typ: f.Type, last: -1}
		b.fields[f.Name] = fb
	}
	switch f.Type {
	case query.Text:
		if v.Str == "" {
			return
		}
		if fb.values++; fb.values > 1 {
			fb.last += analysis.PositionGap
		}
		base := fb.last + 1
		for _, t := range analysis.Analyze(v.Str) {
			fb.last = base + t.Position
			fb.terms = append(fb.terms, occurrence{t.Text, uint32(fb.last)})
			fb.length++
		}
	case query.Keyword:
		if v.Str != "" {
			fb.terms = append(fb.terms, occurrence{text: analysis.Keyword(v.Str)})
		}
	case query.Double:
		fb.numbers = append(fb.numbers, int64(math.Float64bits(v.Float)))
	default:
		fb.numbers = append(fb.numbers, v.Int)
	}
}

func (b *docBuilder) doc(id, created int64) *Doc {
	d := &Doc{id: id, created: created}
	names := make([]string, 0, len(b.fields))
	terms, numbers, positions := 0, 0, 0
	for name, fb := range b.fields {
		if len(fb.terms)+len(fb.numbers) == 0 {
			continue
		}
		names = append(names, name)
		fb.sort()
		terms += len(fb.terms)
		numbers += len(fb.numbers)
		positions += int(fb.length)
	}
	slices.Sort(names)
	d.fields = make([]field, 0, len(names))
	d.terms = make([]term, 0, terms)
	d.places = make([]uint32, 0, terms)
	d.numbers = make([]int64, 0, numbers)
	d.positions = make([]uint32, 0, positions)
	for _, name := range names {
		d.append(name, b.fields[name])
	}
	d.terms, d.places = slices.Clip(d.terms), slices.Clip(d.places)
	return d
}

// sort orders the values of a field and leaves every keyword and number once.
func (fb *fieldBuilder) sort() {
	slices.SortStableFunc(fb.terms, func(a, b occurrence) int { return cmp.Compare(a.text, b.text) })
	if fb.typ == query.Keyword {
		fb.terms = slices.Compact(fb.terms)
	}
	if fb.typ == query.Double {
		sort.Slice(fb.numbers, func(i, j int) bool { return float(fb.numbers[i]) < float(fb.numbers[j]) })
	} else {
		slices.Sort(fb.numbers)
	}
	fb.numbers = slices.Compact(fb.numbers)
}

func (d *Doc) append(name string, fb *fieldBuilder) {
	f := field{name: unique.Make(name), typ: fb.typ, length: fb.length}
	switch fb.typ {
	case query.Text, query.Keyword:
		f.from = uint32(len(d.terms))
		for i, o := range fb.terms {
			if i == 0 || o.text != fb.terms[i-1].text {
				d.terms = append(d.terms, unique.Make(o.text))
				d.places = append(d.places, uint32(len(d.positions)))
			}
			if fb.typ == query.Text {
				d.positions = append(d.positions, o.position)
			}
			d.places[len(d.places)-1] = uint32(len(d.positions))
		}
		f.to = uint32(len(d.terms))
	default:
		f.from = uint32(len(d.numbers))
		d.numbers = append(d.numbers, fb.numbers...)
		f.to = uint32(len(d.numbers))
	}
	f.norm = rank.NoNorm
	if fb.typ == query.Text {
		f.norm = rank.EncodeLength(int(fb.length))
	}
	d.fields = append(d.fields, f)
}

func float(bits int64) float64 { return math.Float64frombits(uint64(bits)) }
