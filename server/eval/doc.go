package eval

import (
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// Doc is an item in searchable form, with the values of each of its fields. It is immutable and safe for concurrent use.
type Doc struct {
	id      int64
	created int64
	fields  map[string]*field // contains only fields in which the item has at least one value
}

// field holds the values of one field.
type field struct {
	typ query.Type
	// terms maps each word of a text field to its positions, in ascending order, and each value of a keyword field to nil.
	terms map[string][]uint32
	// numbers holds Long, Date and Boolean values, and floats holds Double values. Both are in ascending order, without duplicates.
	numbers []int64
	floats  []float64
	// texts is the number of values of a text field, and words is the number of words in these values. next is the position after the last
	// word.
	texts, words, next int
}

// NewDoc returns the document of an item with all its values. created is the item's created_on in milliseconds, which breaks ties in a sort
// order. Empty keywords and texts count as missing (see "Presence" in the documentation of the query language). values must also yield each
// text that query.AllField covers, as a value of query.AllField.
func NewDoc(id, created int64, values iter.Seq2[query.Field, query.Value]) *Doc {
	d := &Doc{id: id, created: created, fields: map[string]*field{}}
	for f, v := range values {
		if v.Str == "" && (f.Type == query.Text || f.Type == query.Keyword) {
			continue
		}
		if d.fields[f.Name] == nil {
			d.fields[f.Name] = &field{typ: f.Type, terms: map[string][]uint32{}}
		}
		d.fields[f.Name].add(v)
	}
	for _, f := range d.fields {
		slices.Sort(f.numbers)
		slices.Sort(f.floats)
		f.numbers, f.floats = slices.Compact(f.numbers), slices.Compact(f.floats)
	}
	return d
}

func (f *field) add(v query.Value) {
	switch f.typ {
	case query.Text:
		if f.texts++; f.texts > 1 {
			f.next += analysis.PositionGap
		}
		start := f.next
		for _, t := range analysis.Analyze(v.Str) {
			f.terms[t.Text] = append(f.terms[t.Text], uint32(start+t.Position))
			f.next = start + t.Position + 1
			f.words++
		}
	case query.Keyword:
		f.terms[analysis.Keyword(v.Str)] = nil
	case query.Double:
		f.floats = append(f.floats, v.Float)
	case query.Long, query.Date, query.Boolean:
		f.numbers = append(f.numbers, v.Int)
	}
}

// NewItemDoc returns the document of an item with the units and tags that it shows. byDefault is the default unit of the property, or nil
// if there is none.
func NewItemDoc(it *item.Item, units []item.Unit, byDefault *item.Unit, tags []item.Tag) *Doc {
	return NewDoc(it.ID, it.CreatedMillis(), it.Values(units, byDefault, tags))
}

// ID returns the id of the item.
func (d *Doc) ID() int64 { return d.id }

// Created returns the item's created_on in milliseconds since 1970.
func (d *Doc) Created() int64 { return d.created }

// Has reports whether the document has a value in the named field.
func (d *Doc) Has(name string) bool { return d.fields[name] != nil }

// Names yields the names of the fields in which the document has values, in no particular order.
func (d *Doc) Names() iter.Seq[string] { return maps.Keys(d.fields) }

// Numbers returns the Long, Date or Boolean values of the named field in ascending order, without duplicates.
func (d *Doc) Numbers(name string) []int64 {
	if f := d.fields[name]; f != nil {
		return f.numbers
	}
	return nil
}

// Counted yields the values of a field without duplicates, in the form of library.FacetValue.Value. The field must be one that
// query.Countable accepts.
func (d *Doc) Counted(f query.Field) iter.Seq[string] {
	return func(yield func(string) bool) {
		if f.Name == query.AllTags {
			for name, in := range d.fields {
				namespace, ok := query.TagNamespace(name)
				if ok && !yieldAll(maps.Keys(in.terms), namespace+":", yield) {
					return
				}
			}
			return
		}
		in := d.fields[f.Name]
		if in == nil || !yieldAll(maps.Keys(in.terms), "", yield) {
			return
		}
		for _, n := range in.numbers {
			if !yield(f.CountedNumber(n)) {
				return
			}
		}
	}
}

// yieldAll yields words, each with the prefix in front, and reports whether the consumer wants more.
func yieldAll(words iter.Seq[string], prefix string, yield func(string) bool) bool {
	for w := range words {
		if !yield(prefix + w) {
			return false
		}
	}
	return true
}

// holds reports whether the values of the field contain a term.
func (f *field) holds(term string) bool {
	if f.typ == query.Boolean {
		return slices.ContainsFunc(f.numbers, func(v int64) bool { return strconv.FormatBool(v != 0) == term })
	}
	_, ok := f.terms[term]
	return ok
}

// size returns the number of terms that the field adds to rank.Field.Terms.
func (f *field) size() int64 {
	if f.typ == query.Text {
		return int64(f.words)
	}
	return int64(len(f.terms) + len(f.numbers) + len(f.floats))
}

// score returns the score of a term that the field contains. In a field that is not a text, each term counts as occurring once.
func (f *field) score(s rank.Scorer, term string) float32 {
	if f.typ == query.Text {
		return s.Score(float32(len(f.terms[term])), f.norm())
	}
	return s.Score(1, rank.NoNorm)
}

func (f *field) norm() byte { return rank.EncodeLength(f.words) }
