package eval

import (
	"bytes"
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"
	"strings"
	"unique"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// name is the name of a field. Documents share its bytes, and compare it as fast as a pointer.
type name = unique.Handle[string]

func nameOf(s string) name { return unique.Make(s) }

// Doc is an item as it is searched: terms with their positions, and numbers. It is immutable and safe for concurrent
// use. It holds few pointers, so that the collector has little to do: an item of sixty values takes about 4 KiB.
type Doc struct {
	id      int64
	created int64
	fields  []field // by name
	// text is all terms of text and keyword fields in a row, within a field by bytes, each once; ends[i] is where term i
	// ends.
	text string
	ends []uint32
	// prints[i] is the fingerprint of term i: nearly all terms that are looked for in vain are told by it, in one line
	// of the processor's cache.
	prints []byte
	// places[i] is where the positions of term i end; those of keywords are empty.
	places    []uint32
	positions []uint32
	// numbers holds Long, Date and Boolean values as they are, and Double values by their bits; within a field in the
	// order of the values, each once.
	numbers []int64
}

// field is one field of a Doc that has at least one value.
type field struct {
	name name
	// from and to enclose the values among the terms or in Doc.numbers.
	from, to uint32
	typ      query.Type
	norm     byte // rank.EncodeLength of the number of words
	length   uint32
}

// NewDoc makes the document of an item from all its values. created is the item's created_on in milliseconds, by which
// ties are broken. Empty keywords and texts count as missing (query language, "Presence"); the words of query.AllField are
// expected among the values under that name.
func NewDoc(id, created int64, values iter.Seq2[query.Field, query.Value]) *Doc {
	b := docBuilder{fields: map[string]*fieldBuilder{}}
	for f, v := range values {
		b.add(f, v)
	}
	return b.doc(id, created)
}

// NewItemDoc makes the document of an item with the units and tags that it shows; byDefault is the default unit of its property,
// nil for none.
func NewItemDoc(it *item.Item, units []item.Unit, byDefault *item.Unit, tags []item.Tag) *Doc {
	return NewDoc(it.ID, it.CreatedMillis(), it.Values(units, byDefault, tags))
}

// ID returns the item's identifier.
func (d *Doc) ID() int64 { return d.id }

// Created returns the item's created_on in milliseconds since 1970.
func (d *Doc) Created() int64 { return d.created }

// Has reports whether the document has a value in the named field.
func (d *Doc) Has(name string) bool { return d.field(nameOf(name), new(int)) != nil }

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
func (d *Doc) field(name name, hint *int) *field {
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

// term returns term i.
func (d *Doc) term(i int) string {
	from := uint32(0)
	if i > 0 {
		from = d.ends[i-1]
	}
	return d.text[from:d.ends[i]]
}

// find returns the index of a term of a field; print is its fingerprint.
func (d *Doc) find(f *field, t string, print byte) (int, bool) {
	if !f.hasTerms() {
		return 0, false
	}
	for at, to := int(f.from), int(f.to); at < to; at++ {
		next := bytes.IndexByte(d.prints[at:to], print)
		if next < 0 {
			break
		}
		if at += next; d.term(at) == t {
			return at, true
		}
	}
	return 0, false
}

// fingerprint folds a term into one byte (FNV-1a).
func fingerprint(t string) byte {
	h := uint32(2166136261)
	for i := range len(t) {
		h = (h ^ uint32(t[i])) * 16777619
	}
	return byte(h ^ h>>8 ^ h>>16 ^ h>>24)
}

// terms enclose the terms of a field in a loop, none for numbers.
func (f *field) terms() (from, to int) {
	if !f.hasTerms() {
		return 0, 0
	}
	return int(f.from), int(f.to)
}

// at returns the positions of term i.
func (d *Doc) at(i int) []uint32 {
	from := uint32(0)
	if i > 0 {
		from = d.places[i-1]
	}
	return d.positions[from:d.places[i]]
}

// freq returns how often term i stands in its field f; keywords count once.
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
	values  int // texts, with words or without
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
	terms, numbers, positions, size := 0, 0, 0, 0
	for name, fb := range b.fields {
		if fb.values+len(fb.terms)+len(fb.numbers) == 0 {
			continue
		}
		names = append(names, name)
		fb.sort()
		terms += len(fb.terms)
		numbers += len(fb.numbers)
		positions += int(fb.length)
		for _, o := range fb.terms {
			size += len(o.text)
		}
	}
	slices.Sort(names)
	d.fields = make([]field, 0, len(names))
	d.ends = make([]uint32, 0, terms)
	d.prints = make([]byte, 0, terms)
	d.places = make([]uint32, 0, terms)
	d.numbers = make([]int64, 0, numbers)
	d.positions = make([]uint32, 0, positions)
	var text strings.Builder
	text.Grow(size)
	for _, name := range names {
		d.append(&text, name, b.fields[name])
	}
	d.text = strings.Clone(text.String()) // without the room of repeated words
	d.ends, d.prints, d.places = slices.Clone(d.ends), slices.Clone(d.prints), slices.Clone(d.places)
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

func (d *Doc) append(text *strings.Builder, name string, fb *fieldBuilder) {
	f := field{name: nameOf(name), typ: fb.typ, length: fb.length}
	switch fb.typ {
	case query.Text, query.Keyword:
		f.from = uint32(len(d.ends))
		for i, o := range fb.terms {
			if i == 0 || o.text != fb.terms[i-1].text {
				text.WriteString(o.text)
				d.ends = append(d.ends, uint32(text.Len()))
				d.prints = append(d.prints, fingerprint(o.text))
				d.places = append(d.places, uint32(len(d.positions)))
			}
			if fb.typ == query.Text {
				d.positions = append(d.positions, o.position)
			}
			d.places[len(d.places)-1] = uint32(len(d.positions))
		}
		f.to = uint32(len(d.ends))
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
