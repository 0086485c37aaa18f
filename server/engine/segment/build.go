package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
)

// Build makes a segment of some items in memory. Their order does not matter. It fails on two items with one id and on a
// number field with two values in one item, which are errors of the caller.
func Build(docs []Doc) (*Segment, error) {
	b := builder{fields: map[string]*buildField{}, terms: map[buildTerm]uint32{}}
	b.docs = make([]*Doc, len(docs))
	for i := range docs {
		b.docs[i] = &docs[i]
	}
	slices.SortFunc(b.docs, func(x, y *Doc) int { return compareOrder(x.Created, x.ID, y.Created, y.ID) })
	for i, d := range b.docs {
		if err := b.add(uint32(i), d); err != nil {
			return nil, err
		}
	}
	return b.finish()
}

// builder gathers the values of all items.
type builder struct {
	docs    []*Doc
	fields  map[string]*buildField
	byOrder []*buildField
	// terms numbers the distinct terms as they come; texts and owners tell of each its text and field.
	terms  map[buildTerm]uint32
	texts  []string
	owners []*buildField
	counts []uint32
	// occurrences are the places of all terms, by document and, within a field, by position.
	occurrences []occurrence
}

type buildTerm struct {
	field *buildField
	text  string
}

type occurrence struct{ term, doc, position uint32 }

// buildField is a field while its values are gathered.
type buildField struct {
	name    string
	typ     query.Type
	private bool
	number  int
	terms   []uint32
	total   int64
	docs    []uint32 // those with a value, ascending
	numbers []int64  // of docs: the numbers, or the lengths of texts
	// last and values are of the present document: the position of the last word, and how many values there were.
	last, values int
}

func (b *builder) field(f query.Field) *buildField {
	known := b.fields[f.Name]
	if known == nil {
		known = &buildField{name: f.Name, typ: f.Type, private: f.Private}
		b.fields[f.Name] = known
		b.byOrder = append(b.byOrder, known)
	}
	return known
}

// begin says that the document has a value, and whether it is its first one.
func (f *buildField) begin(doc uint32) bool {
	if n := len(f.docs); n > 0 && f.docs[n-1] == doc {
		return false
	}
	f.docs = append(f.docs, doc)
	f.numbers = append(f.numbers, 0)
	return true
}

func (b *builder) add(doc uint32, d *Doc) error {
	for i := range b.byOrder {
		b.byOrder[i].last, b.byOrder[i].values = -1, 0
	}
	for i := range d.Values {
		v := &d.Values[i]
		f := b.field(v.Field)
		switch f.typ {
		case query.Text:
			b.text(f, doc, v.Str)
		case query.Keyword:
			if v.Str != "" {
				f.begin(doc)
				b.term(f, analysis.Keyword(v.Str), doc, 0)
			}
		case query.Boolean:
			f.begin(doc)
			b.term(f, booleanTerm(v.Int), doc, 0)
		default:
			n := v.Int
			if f.typ == query.Double {
				n = int64(math.Float64bits(v.Float))
			}
			if !f.begin(doc) && f.numbers[len(f.numbers)-1] != n {
				return fmt.Errorf("item %d has two values in the field %s", d.ID, f.name)
			}
			f.numbers[len(f.numbers)-1] = n
		}
	}
	return nil
}

// booleanTerm is the term that a truth value stands for.
func booleanTerm(v int64) string {
	if v != 0 {
		return "true"
	}
	return "false"
}

// text adds the words of a text. Between two texts of one field there is a gap that no phrase bridges.
func (b *builder) text(f *buildField, doc uint32, text string) {
	if text == "" {
		return
	}
	if f.values++; f.values == 1 {
		f.last = -1
	} else {
		f.last += analysis.PositionGap
	}
	base := f.last + 1
	for _, t := range analysis.Analyze(text) {
		f.begin(doc)
		f.last = base + t.Position
		f.numbers[len(f.numbers)-1]++
		b.term(f, t.Text, doc, uint32(f.last))
	}
}

func (b *builder) term(f *buildField, text string, doc, position uint32) {
	key := buildTerm{f, text}
	t, known := b.terms[key]
	if !known {
		t = uint32(len(b.texts))
		b.terms[key] = t
		b.texts = append(b.texts, text)
		b.owners = append(b.owners, f)
		b.counts = append(b.counts, 0)
		f.terms = append(f.terms, t)
	}
	b.counts[t]++
	b.occurrences = append(b.occurrences, occurrence{t, doc, position})
}

// finish writes everything.
func (b *builder) finish() (*Segment, error) {
	ids := make([]int64, len(b.docs))
	for i, d := range b.docs {
		ids[i] = d.ID
	}
	fields := slices.DeleteFunc(b.byOrder, func(f *buildField) bool { return len(f.docs) == 0 })
	slices.SortFunc(fields, func(x, y *buildField) int { return strings.Compare(x.name, y.name) })
	if len(fields) > math.MaxUint16 {
		return nil, errors.New("the items have more than 65,535 different fields")
	}
	size := 0
	for _, d := range b.docs {
		size += len(d.Bytes)
	}
	w := segmentWriter{out: &output{buf: make([]byte, 0, size+len(b.docs)*600+2048)}}
	for _, d := range b.docs {
		w.item(d.Bytes)
	}
	w.endItems()
	err := w.columns(len(b.docs), func(doc uint32) (int64, int64) { return b.docs[doc].Created, b.docs[doc].ID })
	if err != nil {
		return nil, err
	}
	w.units(len(b.docs), func(doc uint32) []int64 { return b.docs[doc].Units })
	b.writeTerms(&w, fields)
	for _, f := range fields {
		b.writeField(&w, f)
	}
	return assemble(w.dir, w.out.buf)
}

// writeTerms writes the dictionary with all postings.
func (b *builder) writeTerms(w *segmentWriter, fields []*buildField) {
	// The occurrences are put together by term, which keeps their order within one.
	starts := make([]uint32, len(b.counts)+1)
	for t, n := range b.counts {
		starts[t+1] = starts[t] + n
	}
	next := slices.Clone(starts[:len(b.counts)])
	sorted := make([]occurrence, len(b.occurrences))
	for _, o := range b.occurrences {
		sorted[next[o.term]] = o
		next[o.term]++
	}
	var key, positions []byte
	var list []posting
	for number, f := range fields {
		f.number = number
		slices.SortFunc(f.terms, func(x, y uint32) int { return strings.Compare(b.texts[x], b.texts[y]) })
		w.beginField(f.name, f.typ, f.private)
		for _, t := range f.terms {
			list, positions = list[:0], positions[:0]
			last := uint32(0)
			for _, o := range sorted[starts[t]:starts[t+1]] {
				if n := len(list); n > 0 && list[n-1].doc == o.doc {
					if f.typ != query.Text {
						continue
					}
					list[n-1].freq++
				} else {
					list = append(list, posting{doc: o.doc, freq: 1})
					last = 0
				}
				if f.typ == query.Text {
					positions = binary.AppendUvarint(positions, uint64(o.position-last))
					last = o.position
				}
			}
			key = append(binary.BigEndian.AppendUint16(key[:0], uint16(number)), b.texts[t]...)
			if f.typ == query.Text {
				// They lie one behind the other as they are written.
				list[0].positions = positions
			} else {
				f.total += int64(len(list))
			}
			w.term(key, list, f.typ)
		}
	}
	w.endTerms()
}

func (b *builder) writeField(w *segmentWriter, f *buildField) {
	e := &w.dir.Fields[f.number]
	all := len(f.docs) == len(b.docs)
	var present *roaring.Bitmap
	if !all {
		present = roaring.BitmapOf(f.docs...)
	}
	if f.typ == query.Text {
		for _, n := range f.numbers {
			f.total += n
		}
	}
	e.Docs, e.Terms = len(f.docs), f.total
	w.presence(e, present)
	if !isNumber(f.typ) && f.typ != query.Text {
		return
	}
	at := 0
	number := func(doc uint32) int64 {
		// Asked in order, twice at most.
		if at >= len(f.docs) || f.docs[at] > doc {
			if at == 0 || f.docs[at-1] >= doc {
				at, _ = slices.BinarySearch(f.docs, doc)
			}
		}
		for at < len(f.docs) && f.docs[at] < doc {
			at++
		}
		if at < len(f.docs) && f.docs[at] == doc {
			return f.numbers[at]
		}
		return 0
	}
	e.Column = writeColumn(w.out, len(b.docs), present, number)
}
