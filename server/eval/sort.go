package eval

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// SortValue is the value of an item for one key of a sort order. The type of the key determines which member contains the value, as in
// query.Value. A score is in Float, and a place in the random order is in Int.
type SortValue struct {
	// Missing is true if the item has no value. Such items come last in ascending and in descending order.
	Missing bool   `json:"m,omitempty"`
	Str     string `json:"s,omitempty"`
	Int     int64  `json:"n,omitempty"`
	Float   Number `json:"f,omitempty"`
}

// Number is a floating-point number that is a string in JSON, because a score can be infinite or NaN. Encoding and decoding preserves every
// value except negative zero.
type Number float64

// MarshalText returns the shortest text that UnmarshalText reads as the same number.
func (n Number) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(n), 'g', -1, 64), nil
}

// UnmarshalText reads a number.
func (n *Number) UnmarshalText(text []byte) error {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("read the number of a sort value: %w", err)
	}
	*n = Number(f)
	return nil
}

// SortValue returns the value of a sortable field. Keywords are in lower case, and are compared by bytes. If the field has several values,
// SortValue returns the lowest.
func (d *Doc) SortValue(f query.Field) SortValue {
	at := d.fields[f.Name]
	switch {
	case at == nil || at.typ == query.Text:
		return SortValue{Missing: true}
	case at.typ == query.Keyword:
		return SortValue{Str: slices.Min(slices.Collect(maps.Keys(at.terms)))}
	case at.typ == query.Double:
		return SortValue{Float: Number(at.floats[0])}
	default:
		return SortValue{Int: at.numbers[0]}
	}
}

// Compare compares two values of one key, in ascending order, or in descending order if desc is true. Missing values come last in either
// case.
func (v SortValue) Compare(o SortValue, desc bool) int {
	switch {
	case v.Missing && o.Missing:
		return 0
	case v.Missing:
		return 1
	case o.Missing:
		return -1
	}
	c := cmp.Or(cmp.Compare(v.Str, o.Str), cmp.Compare(v.Int, o.Int), cmp.Compare(v.Float, o.Float))
	if desc {
		return -c
	}
	return c
}

// Place is the position of an item in a listing. The cursors of all libraries contain a Place as JSON.
type Place struct {
	// Rest is true if favorites come first in the listing and the item is not one of them.
	Rest bool `json:"r,omitempty"`
	// Values holds one value for each key of the order.
	Values []SortValue `json:"v,omitempty"`
	// Created (in milliseconds) and ID break ties: the newest item comes first. Of equally new items, the item with the highest ID comes
	// first.
	Created int64 `json:"c"`
	ID      int64 `json:"i"`
}

// Sorter sorts hits in the order of a listing.
type Sorter struct {
	order  query.Order
	fields []query.Field // the field of each key; the zero Field for the score and the random key
	random func(id int64) int64
}

// NewSorter returns a Sorter for an order. If order is nil, only the tie rule of Place applies. random returns an item's place in the
// random order, and may be nil for other orders. NewSorter fails if a key names an unknown field.
func NewSorter(order query.Order, random func(id int64) int64) (*Sorter, error) {
	s := &Sorter{order: order, fields: make([]query.Field, len(order)), random: random}
	for i, key := range order {
		switch key.Field {
		case query.ScoreKey:
		case query.RandomKey:
			if random == nil {
				return nil, fmt.Errorf("sort: the random order needs the function random")
			}
		default:
			f, ok := query.Lookup(key.Field)
			if !ok {
				return nil, fmt.Errorf("sort: unknown field %q", key.Field)
			}
			s.fields[i] = f
		}
	}
	return s, nil
}

// Place returns the place of a hit.
func (s *Sorter) Place(h Hit) Place {
	p := Place{Values: make([]SortValue, len(s.order)), Created: h.Doc.created, ID: h.Doc.id}
	for i, key := range s.order {
		switch key.Field {
		case query.ScoreKey:
			p.Values[i] = SortValue{Float: Number(h.Score)}
		case query.RandomKey:
			p.Values[i] = SortValue{Int: s.random(h.Doc.id)}
		default:
			p.Values[i] = h.Doc.SortValue(s.fields[i])
		}
	}
	return p
}

// Compare compares two places in a listing with order o. The result is negative if p comes first, and 0 only if both are places of the same
// item.
func (p Place) Compare(other Place, o query.Order) int {
	if p.Rest != other.Rest {
		if other.Rest {
			return -1
		}
		return 1
	}
	for i, key := range o {
		if c := p.Values[i].Compare(other.Values[i], key.Desc); c != 0 {
			return c
		}
	}
	return item.CompareNewest(p.Created, p.ID, other.Created, other.ID)
}

// Sort sorts hits in place.
func (s *Sorter) Sort(hits []Hit) {
	type placed struct {
		hit   Hit
		place Place
	}
	all := make([]placed, len(hits))
	for i, h := range hits {
		all[i] = placed{h, s.Place(h)}
	}
	slices.SortFunc(all, func(a, b placed) int { return a.place.Compare(b.place, s.order) })
	for i := range all {
		hits[i] = all[i].hit
	}
}
