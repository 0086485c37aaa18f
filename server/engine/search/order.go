package search

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Order sorts the documents of a Corpus by a query.Order, and then by the tie rule: the newest created_on first, then the highest ID. It
// is immutable and safe for concurrent use.
type Order struct {
	corpus *Corpus
	order  query.Order
	random func(item.ID) int64
	key    string
	// columns[i][j] is the column of key j in part i.
	columns [][]column
}

// Order binds an order to the corpus. A nil order stands for the tie rule alone. random returns the position of an item in the random
// order, and may be nil for other orders. A key that is not in the field catalogue causes an error.
func (c *Corpus) Order(ctx context.Context, order query.Order, random func(item.ID) int64) (*Order, error) {
	o := &Order{corpus: c, order: order, random: random, columns: make([][]column, len(c.Parts))}
	columns := make([]column, len(c.Parts)*len(order))
	for i, p := range c.Parts {
		o.columns[i] = columns[i*len(order):][:len(order)]
		for j, key := range order {
			var err error
			if o.columns[i][j], err = o.column(ctx, p, key.Field); err != nil {
				return nil, fmt.Errorf("sort: %w", err)
			}
		}
	}
	if !o.isDefault() {
		o.key = order.String()
		for _, key := range order {
			if o.shown(key.Field) {
				units, err := c.unitOverlay(ctx)
				if err != nil {
					return nil, fmt.Errorf("sort: %w", err)
				}
				o.key += " of " + units.key
				break
			}
		}
	}
	return o, nil
}

// isDefault reports whether the order is the order of the document numbers.
func (o *Order) isDefault() bool {
	return len(o.order) == 0 || len(o.order) == 1 && o.order[0] == query.Key{Field: query.CreatedOn, Desc: true}
}

// Key identifies the order within one segment. Orders with equal keys sort the documents of a segment equally in every Corpus of the
// property. The key is empty for the order of the document numbers. It does not contain the seed of a random order, so the caller must
// add the seed.
func (o *Order) Key() string { return o.key }

// shown reports whether a field depends on the units that documents show.
func (o *Order) shown(field string) bool { return o.corpus.kindOf(field) == ofUnits }

// column holds the values of one key in one part.
type column struct {
	segment *segment.Segment
	field   *segment.Field // nil if no document has a value
	// lists is nil for fields of the items themselves. Otherwise it maps the documents of the part to lists of units, and the documents of
	// field are these lists.
	lists *unitLists
}

func (o *Order) column(ctx context.Context, p segment.Part, name string) (column, error) {
	switch name {
	case query.ScoreKey:
		return column{}, nil
	case query.RandomKey:
		if o.random == nil {
			return column{}, fmt.Errorf("the random order needs the function random")
		}
		return column{}, nil
	}
	f, ok := query.Lookup(name)
	if !ok {
		return column{}, fmt.Errorf("unknown field %q", name)
	}
	if !o.shown(f.Name) {
		return column{segment: p.Segment, field: p.Segment.Field(f.Name)}, nil
	}
	lists, err := o.corpus.shown(ctx, p)
	if err != nil {
		return column{}, err
	}
	return column{segment: lists.segment, field: lists.segment.Field(f.Name), lists: lists}, nil
}

// keyValue is the value of one key of an order in one document.
type keyValue struct {
	missing bool
	text    []byte // the value of a keyword
	number  int64
	float   float64
}

func (o *Order) value(h Hit, key int) keyValue {
	switch o.order[key].Field {
	case query.ScoreKey:
		return keyValue{float: float64(h.Score)}
	case query.RandomKey:
		return keyValue{number: o.random(o.corpus.Parts[h.Part].Segment.ID(h.Doc))}
	}
	return o.columns[h.Part][key].value(h.Doc)
}

func (c *column) value(doc uint32) keyValue {
	if c.field == nil {
		return keyValue{missing: true}
	}
	if c.lists != nil {
		doc = c.lists.list(doc)
	}
	switch c.field.Type() {
	case query.Keyword, query.Text:
		if ordinal := c.field.Ordinals()[doc]; ordinal > 0 {
			return keyValue{text: c.field.TermAt(ordinal - 1)}
		}
	case query.Boolean:
		if ordinal := c.field.Ordinals()[doc]; ordinal > 0 {
			return keyValue{number: truth(string(c.field.TermAt(ordinal - 1)))}
		}
	case query.Double:
		if bits, ok := c.field.Number(doc); ok {
			return keyValue{float: math.Float64frombits(uint64(bits))}
		}
	case query.Long, query.Date:
		if n, ok := c.field.Number(doc); ok {
			return keyValue{number: n}
		}
	}
	return keyValue{missing: true}
}

// compare compares values in the same way as eval.SortValue.Compare.
func (v keyValue) compare(o keyValue, desc bool) int {
	switch {
	case v.missing && o.missing:
		return 0
	case v.missing:
		return 1
	case o.missing:
		return -1
	}
	c := cmp.Or(bytes.Compare(v.text, o.text), cmp.Compare(v.number, o.number), cmp.Compare(v.float, o.float))
	if desc {
		return -c
	}
	return c
}

// Compare compares two documents. The result is negative if a comes first, and 0 only if a and b are the same document. Compare uses the
// scores of hits only if the score is a key of the order.
func (o *Order) Compare(a, b Hit) int {
	for i, key := range o.order {
		if c := o.value(a, i).compare(o.value(b, i), key.Desc); c != 0 {
			return c
		}
	}
	return o.corpus.compareDocs(a.Part, a.Doc, b.Part, b.Doc)
}

// Place returns the place of a document in the order, for a cursor.
func (o *Order) Place(h Hit) eval.Place {
	s := o.corpus.Parts[h.Part].Segment
	p := eval.Place{Values: make([]eval.SortValue, len(o.order)), Created: s.Created(h.Doc), ID: s.ID(h.Doc)}
	for i := range o.order {
		v := o.value(h, i)
		p.Values[i] = eval.SortValue{Missing: v.missing, Str: string(v.text), Int: v.number, Float: eval.Number(v.float)}
	}
	return p
}

// ComparePlace compares a document with a place and ignores eval.Place.Rest.
func (o *Order) ComparePlace(h Hit, p eval.Place) int {
	for i, key := range o.order {
		v := p.Values[i]
		c := o.value(h, i).compare(keyValue{missing: v.Missing, text: []byte(v.Str), number: v.Int, float: float64(v.Float)}, key.Desc)
		if c != 0 {
			return c
		}
	}
	s := o.corpus.Parts[h.Part].Segment
	return item.CompareNewest(s.Created(h.Doc), s.ID(h.Doc), p.Created, p.ID)
}

// ComparePlaces compares two places. It compares eval.Place.Rest first.
func (o *Order) ComparePlaces(a, b eval.Place) int { return a.Compare(b, o.order) }

// Documents returns all documents of a part in the order, including deleted ones. For the order of the document numbers (an empty Key),
// it returns nil. Sorting takes about 50 ns per document, so callers should keep the result. Orders by score are not supported.
func (o *Order) Documents(ctx context.Context, part int) ([]uint32, error) {
	if o.key == "" {
		return nil, nil
	}
	docs := make([]uint32, o.corpus.Parts[part].Segment.Len())
	for i := range docs {
		docs[i] = uint32(i)
	}
	for _, c := range o.columns[part] {
		if c.field != nil {
			c.field.PrefetchColumn()
		}
	}
	return o.sort(ctx, part, docs, nil)
}

// sort sorts documents of a part, which the caller passes in ascending order. It sorts stably by one key after the other, beginning with
// the least significant key. scores holds the scores of all documents of the part. It is used only if the score is a key.
func (o *Order) sort(ctx context.Context, part int, docs []uint32, scores []float32) ([]uint32, error) {
	for i := len(o.order) - 1; i >= 0; i-- {
		if err := interrupted(ctx); err != nil {
			return nil, fmt.Errorf("sort a segment: %w", err)
		}
		docs = sortBy(docs, o.digits(part, i, scores))
	}
	return docs, nil
}

// digits returns a function that maps a document to a number. If documents are sorted by ascending numbers, they are in the order of the
// key. The function returns false if the document has no value.
func (o *Order) digits(part, key int, scores []float32) func(doc uint32) (uint64, bool) {
	rising := func(doc uint32) (uint64, bool) {
		v := o.value(Hit{Part: part, Doc: doc}, key)
		return risingInt(v.number), !v.missing
	}
	if o.order[key].Field == query.ScoreKey {
		rising = func(doc uint32) (uint64, bool) { return risingFloat(float64(scores[doc])), true }
	}
	if c := o.columns[part][key]; c.field != nil {
		switch c.field.Type() {
		case query.Keyword, query.Text, query.Boolean:
			// Ordinals have the same order as the terms.
			ordinals := c.field.Ordinals()
			rising = func(doc uint32) (uint64, bool) {
				if c.lists != nil {
					doc = c.lists.list(doc)
				}
				return uint64(ordinals[doc]), ordinals[doc] > 0
			}
		case query.Double:
			rising = func(doc uint32) (uint64, bool) {
				v := c.value(doc)
				return risingFloat(v.float), !v.missing
			}
		case query.Long, query.Date: // rising already maps the values of these types
		}
	}
	if !o.order[key].Desc {
		return rising
	}
	return func(doc uint32) (uint64, bool) {
		v, ok := rising(doc)
		return ^v, ok
	}
}

// risingInt and risingFloat map numbers to unsigned integers that have the same order.
func risingInt(v int64) uint64 { return uint64(v) ^ 1<<63 }

func risingFloat(v float64) uint64 {
	b := math.Float64bits(v)
	switch {
	case math.IsNaN(v):
		return 0 // NaN comes before all other numbers, as in cmp.Compare
	case v == 0:
		return 1 << 63 // +0 or -0
	case b>>63 == 1:
		return ^b
	}
	return b | 1<<63
}

// sortBy is a stable radix sort of documents by the number that a function returns. Documents without a number come last.
func sortBy(docs []uint32, number func(doc uint32) (uint64, bool)) []uint32 {
	type entry struct {
		number uint64
		doc    uint32
	}
	entries := make([]entry, 0, len(docs))
	var missing []uint32
	every, some := ^uint64(0), uint64(0)
	for _, doc := range docs {
		n, ok := number(doc)
		if !ok {
			missing = append(missing, doc)
			continue
		}
		entries = append(entries, entry{n, doc})
		every &= n
		some |= n
	}
	const digit = 11
	other := make([]entry, len(entries))
	for shift := 0; shift < 64; shift += digit {
		if (every^some)>>shift&(1<<digit-1) == 0 {
			continue // all documents have the same digit
		}
		var counts [1 << digit]int
		for i := range entries {
			counts[entries[i].number>>shift&(1<<digit-1)]++
		}
		at := 0
		for i, n := range counts {
			counts[i] = at
			at += n
		}
		for _, e := range entries {
			d := e.number >> shift & (1<<digit - 1)
			other[counts[d]] = e
			counts[d]++
		}
		entries, other = other, entries
	}
	sorted := make([]uint32, 0, len(docs))
	for _, e := range entries {
		sorted = append(sorted, e.doc)
	}
	return append(sorted, missing...)
}

// Ordered returns all hits of a query in an order that uses scores.
func (q *Query) Ordered(ctx context.Context, o *Order) ([]Hit, error) {
	if len(o.order) == 1 && o.order[0] == (query.Key{Field: query.ScoreKey, Desc: true}) {
		return q.Ranking(ctx)
	}
	runs := make([][]Hit, 0, len(q.corpus.Parts))
	for i := range q.corpus.Parts {
		var docs []uint32
		scores := make([]float32, q.corpus.Parts[i].Segment.Len())
		err := q.Scores(ctx, i, func(doc uint32, score float32) {
			docs = append(docs, doc)
			scores[doc] = score
		})
		if err != nil {
			return nil, err
		}
		if docs, err = o.sort(ctx, i, docs, scores); err != nil {
			return nil, err
		}
		run := make([]Hit, len(docs))
		for j, doc := range docs {
			run[j] = Hit{Part: i, Doc: doc, Score: scores[doc]}
		}
		runs = append(runs, run)
	}
	return mergeRuns(runs, o.Compare), nil
}
