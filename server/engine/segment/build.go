package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
)

// Build creates a segment of items in memory. The order of docs does not matter. Build fails if two items have the same ID or if an item
// has two different values in a number field. Both are errors of the caller. Build also fails if the segment would exceed a count that a
// file can store.
func Build(docs []Doc) (*Segment, error) { return NewBuilder().Build(docs) }

// Builder builds segments one after the other and reuses its memory. This memory can grow to a few times the size of the largest
// segment's index. A Builder is not safe for concurrent use.
type Builder struct {
	docs []*Doc
	// fields holds all known fields by name. used holds the fields of the current segment.
	fields map[string]*buildField
	used   []*buildField
	// terms holds the distinct terms in the order of their first occurrence, and texts holds the bytes of the terms. table is a hash table
	// with linear probing. An entry is 1 + the index of a term, or 0 if the entry is empty.
	terms []buildTerm
	texts []byte
	table []uint32
	seed  maphash.Seed
	// occurrences holds all occurrences of terms, ordered by document and, within a field of a document, by position. sorted holds the same
	// occurrences ordered by term.
	occurrences []occurrence
	sorted      []occurrence
	// analysed is the last analyzed text. It is kept because another field often has the same text. words holds the words of this text one
	// after the other. ends holds the offset at which each word ends in that slice. hashes holds the hash of each word.
	analysed string
	words    []byte
	ends     []int
	hashes   []uint64
	// These fields are buffers for writing a segment.
	starts  []uint32
	order   []sortedTerm
	keyword []byte
	list    postingList
	numbers []int64
	index   []byte
}

// NewBuilder returns a Builder that has no memory to reuse yet.
func NewBuilder() *Builder {
	return &Builder{fields: map[string]*buildField{}, seed: maphash.MakeSeed()}
}

// maxKnownFields is the maximum number of fields that a Builder keeps for the next segment.
const maxKnownFields = 4096

type buildTerm struct {
	hash     uint64
	from, to int // range in Builder.texts
	field    *buildField
	count    uint32
	doc      uint32 // the last document that contains the term
}

type occurrence struct{ term, doc, position uint32 }

// buildField is a field while its values are collected.
type buildField struct {
	name    string
	typ     query.Type
	private bool
	used    bool
	salt    uint64 // XORed with the hashes of the field's terms, so that equal terms of different fields have different hashes
	number  int
	terms   []uint32
	total   int64
	docs    []uint32 // documents with a value, ascending
	numbers []int64  // for each document in docs: the value, or the number of words of the text
	// text is the document of the last text, or -1 if there is none. last is the position of the last word of that text.
	text int
	last int
	// next is the field that followed this field most recently. It is a good guess, because most documents have their fields in the same
	// order.
	next *buildField
}

// Build does the same as the function Build, but reuses the memory of b.
func (b *Builder) Build(docs []Doc) (*Segment, error) {
	defer b.reset()
	b.docs = slices.Grow(b.docs[:0], len(docs))
	for i := range docs {
		b.docs = append(b.docs, &docs[i])
	}
	slices.SortFunc(b.docs, func(x, y *Doc) int { return item.CompareNewest(x.Created, x.ID, y.Created, y.ID) })
	before := &buildField{}
	for i, d := range b.docs {
		if err := b.add(uint32(i), d, before); err != nil {
			return nil, err
		}
	}
	return b.finish()
}

// reset removes the data of the segment and keeps the memory for reuse.
func (b *Builder) reset() {
	clear(b.docs)
	b.analysed = ""
	for _, f := range b.used {
		f.used = false
		f.terms, f.docs, f.numbers = f.terms[:0], f.docs[:0], f.numbers[:0]
	}
	b.used = b.used[:0]
	if len(b.fields) > maxKnownFields {
		b.fields = map[string]*buildField{}
	}
	if len(b.table) > wideTable*(1+len(b.terms)) {
		b.table = nil
	}
	clear(b.table)
	clear(b.terms)
	b.terms, b.texts, b.occurrences = b.terms[:0], b.texts[:0], b.occurrences[:0]
}

// wideTable is the maximum ratio of the table's length to the number of terms at which reset keeps the table.
const wideTable = 64

// field returns the buildField of f. It first tries before.next, which avoids a map lookup.
func (b *Builder) field(f *query.Field, before *buildField) *buildField {
	known := before.next
	if known == nil || known.name != f.Name {
		if known = b.fields[f.Name]; known == nil {
			known = &buildField{name: f.Name, salt: maphash.String(b.seed, f.Name)}
			b.fields[f.Name] = known
		}
		before.next = known
	}
	if !known.used {
		known.used, known.typ, known.private, known.total, known.text = true, f.Type, f.Private, 0, -1
		b.used = append(b.used, known)
	}
	return known
}

// begin records that a document has a value, and reports whether it is the document's first value in the field.
func (f *buildField) begin(doc uint32) bool {
	if n := len(f.docs); n > 0 && f.docs[n-1] == doc {
		return false
	}
	f.docs = append(f.docs, doc)
	f.numbers = append(f.numbers, 0)
	return true
}

// add adds the values of a document. before is a sentinel that comes before the first field of the document.
func (b *Builder) add(doc uint32, d *Doc, before *buildField) error {
	f := before
	for i := range d.Values {
		v := &d.Values[i]
		f = b.field(&v.Field, f)
		switch f.typ {
		case query.Text:
			b.text(f, doc, v.Str)
		case query.Keyword:
			if v.Str != "" {
				f.begin(doc)
				b.keyword = analysis.AppendKeyword(b.keyword[:0], v.Str)
				b.term(f, b.keyword, b.hash(b.keyword), doc, 0)
			}
		case query.Boolean:
			f.begin(doc)
			b.keyword = append(b.keyword[:0], booleanTerm(v.Int)...)
			b.term(f, b.keyword, b.hash(b.keyword), doc, 0)
		case query.Long, query.Date, query.Double:
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

func booleanTerm(v int64) string {
	if v != 0 {
		return "true"
	}
	return "false"
}

// text adds a text and its words. There is a gap in the positions between two texts of the same field and document. The gap prevents a
// phrase from matching across both texts.
func (b *Builder) text(f *buildField, doc uint32, text string) {
	if text == "" {
		return
	}
	if f.text != int(doc) {
		f.text, f.last = int(doc), -1
	} else {
		f.last += analysis.PositionGap
	}
	if text != b.analysed {
		b.words, b.ends = analysis.AppendWords(b.words[:0], b.ends[:0], text)
		b.hashes = b.hashes[:0]
		begin := 0
		for _, end := range b.ends {
			b.hashes = append(b.hashes, b.hash(b.words[begin:end]))
			begin = end
		}
		b.analysed = text
	}
	f.begin(doc)
	begin := 0
	for i, end := range b.ends {
		f.last++
		f.numbers[len(f.numbers)-1]++
		b.term(f, b.words[begin:end], b.hashes[i], doc, uint32(f.last))
		begin = end
	}
}

func (b *Builder) hash(text []byte) uint64 { return maphash.Bytes(b.seed, text) }

// term adds an occurrence of a term. hash is the hash of the term's bytes, without the salt of the field.
func (b *Builder) term(f *buildField, text []byte, hash uint64, doc, position uint32) {
	if 2*len(b.terms) >= len(b.table) {
		b.growTable()
	}
	hash ^= f.salt
	mask := uint64(len(b.table) - 1)
	at := hash & mask
	for ; b.table[at] != 0; at = (at + 1) & mask {
		n := b.table[at] - 1
		t := &b.terms[n]
		if t.hash != hash || t.field != f || !bytes.Equal(b.texts[t.from:t.to], text) {
			continue
		}
		if t.doc == doc && f.typ != query.Text {
			return
		}
		t.count++
		t.doc = doc
		b.occurrences = append(b.occurrences, occurrence{n, doc, position})
		return
	}
	n := uint32(len(b.terms))
	b.table[at] = n + 1
	from := len(b.texts)
	b.texts = append(b.texts, text...)
	b.terms = append(b.terms, buildTerm{hash: hash, from: from, to: len(b.texts), field: f, count: 1, doc: doc})
	f.terms = append(f.terms, n)
	b.occurrences = append(b.occurrences, occurrence{n, doc, position})
}

// growTable doubles the size of the table and inserts all terms again.
func (b *Builder) growTable() {
	b.table = make([]uint32, max(256, 2*len(b.table)))
	mask := uint64(len(b.table) - 1)
	for n := range b.terms {
		at := b.terms[n].hash & mask
		for b.table[at] != 0 {
			at = (at + 1) & mask
		}
		b.table[at] = uint32(n + 1)
	}
}

func (b *Builder) finish() (*Segment, error) {
	fields := slices.DeleteFunc(slices.Clone(b.used), func(f *buildField) bool { return len(f.docs) == 0 })
	slices.SortFunc(fields, func(x, y *buildField) int { return strings.Compare(x.name, y.name) })
	size := 0
	for _, d := range b.docs {
		size += len(d.Bytes) + itemSum
	}
	// Build the index in a reused buffer, and then copy the index behind the items. This way, the segment has no unused capacity.
	w := newSegmentWriter(&checksumWriter{buf: b.index[:0]})
	defer func() { b.index = w.out.buf }()
	for _, d := range b.docs {
		w.passItem(len(d.Bytes))
	}
	w.endItems()
	err := w.columns(len(b.docs), func(doc uint32) (int64, int64) { return b.docs[doc].Created, b.docs[doc].ID })
	if err != nil {
		return nil, err
	}
	if err := w.units(len(b.docs), func(doc uint32) []int64 { return b.docs[doc].Units }); err != nil {
		return nil, err
	}
	if err := b.writeTerms(w, fields); err != nil {
		return nil, err
	}
	for _, f := range fields {
		b.writeField(w, f)
	}
	data := make([]byte, 0, size+len(w.out.buf))
	for _, d := range b.docs {
		data = appendStored(data, d.Bytes)
	}
	return assemble(w.dir, append(data, w.out.buf...))
}

// writeTerms writes the dictionary with all postings.
func (b *Builder) writeTerms(w *segmentWriter, fields []*buildField) error {
	// Sort the occurrences by term, and keep the order of a term's occurrences. starts[t] is the index in sorted to which the next occurrence
	// of term t is copied. After the loop, starts[t] is the end of the occurrences of term t.
	b.starts = slices.Grow(b.starts[:0], len(b.terms))[:len(b.terms)]
	next := uint32(0)
	for t := range b.terms {
		b.starts[t] = next
		next += b.terms[t].count
	}
	b.sorted = slices.Grow(b.sorted[:0], len(b.occurrences))[:len(b.occurrences)]
	for _, o := range b.occurrences {
		b.sorted[b.starts[o.term]] = o
		b.starts[o.term]++
	}
	for number, f := range fields {
		f.number = number
		w.beginField(f.name, f.typ, f.private)
		if f.typ == query.Text {
			w.postings.norms = appendNorms(w.postings.norms[:0], b.column(f))
		}
		var last []byte
		for _, s := range b.inOrder(f) {
			t := &b.terms[s.term]
			text := b.texts[t.from:t.to]
			end := b.starts[s.term]
			b.writeTerm(w, f, text, commonPrefix(last, text), b.sorted[end-t.count:end])
			last = text
		}
	}
	return w.endTerms()
}

// writeTerm writes one term with its occurrences.
func (b *Builder) writeTerm(w *segmentWriter, f *buildField, text []byte, shared int, of []occurrence) {
	l := &b.list
	l.docs, l.positions = l.docs[:0], l.positions[:0]
	l.freqs.reset()
	if f.typ != query.Text {
		for _, o := range of {
			l.docs = append(l.docs, o.doc)
		}
		f.total += int64(len(l.docs))
		w.term(text, shared, *l)
		return
	}
	for len(of) > 0 {
		n, last := 0, uint32(0)
		for n < len(of) && of[n].doc == of[0].doc {
			l.positions = binary.AppendUvarint(l.positions, uint64(of[n].position-last))
			last = of[n].position
			n++
		}
		l.freqs.add(len(l.docs), uint32(n))
		l.docs = append(l.docs, of[0].doc)
		of = of[n:]
	}
	w.term(text, shared, *l)
}

// sortedTerm is a term with the first eight bytes after the common prefix of the field's terms. Most terms differ in these bytes.
type sortedTerm struct {
	prefix uint64
	term   uint32
}

// inOrder returns the terms of a field in byte order.
func (b *Builder) inOrder(f *buildField) []sortedTerm {
	text := func(n uint32) []byte { return b.texts[b.terms[n].from:b.terms[n].to] }
	b.order = b.order[:0]
	if len(f.terms) == 0 {
		return nil
	}
	// The terms of a field, such as URLs, often have a common prefix.
	same := text(f.terms[0])
	for _, n := range f.terms[1:] {
		same = same[:commonPrefix(same, text(n))]
	}
	for _, n := range f.terms {
		var prefix [8]byte
		copy(prefix[:], text(n)[len(same):])
		b.order = append(b.order, sortedTerm{binary.BigEndian.Uint64(prefix[:]), n})
	}
	slices.SortFunc(b.order, func(x, y sortedTerm) int {
		if x.prefix != y.prefix {
			return cmp.Compare(x.prefix, y.prefix)
		}
		return bytes.Compare(text(x.term), text(y.term))
	})
	return b.order
}

// column returns the numbers of a field, with one number for each document. The slice is valid until the next call.
func (b *Builder) column(f *buildField) []int64 {
	b.numbers = slices.Grow(b.numbers[:0], len(b.docs))[:len(b.docs)]
	clear(b.numbers)
	for i, doc := range f.docs {
		b.numbers[doc] = f.numbers[i]
	}
	return b.numbers
}

// writeField writes the presence and the numbers of a field.
func (b *Builder) writeField(w *segmentWriter, f *buildField) {
	e := &w.dir.Fields[f.number]
	var present *roaring.Bitmap
	if len(f.docs) < len(b.docs) {
		present = roaring.BitmapOf(f.docs...)
	}
	e.Docs = len(f.docs)
	w.values(e, present, b.column(f))
	if f.typ == query.Text {
		for _, n := range f.numbers {
			f.total += n
			if n > 0 {
				e.Worded++
			}
		}
	}
	e.Terms = f.total
}
