package search

import (
	"context"
	"math"
	"strconv"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// termRange is a test for terms between two bounds.
type termRange struct{ plan.TermRange }

func (t *termRange) find(ctx context.Context, s *segment.Segment, f *segment.Field, _ *roaring.Bitmap) (set, error) {
	return findUnited(ctx, t, s, f)
}

func (t *termRange) unite(ctx context.Context, s *segment.Segment, f *segment.Field, c *Cache) (*union, error) {
	u := newUnion(s.Len(), c)
	if !hasTerms(query.Field{Type: f.Type()}) {
		return u, nil
	}
	from := t.Lo
	if t.LoOpen {
		from = ""
	}
	looked := 0
	for term, p := range f.Ascend(from) {
		if looked++; looked%checkTerms == 0 {
			if err := interrupted(ctx); err != nil {
				return nil, err
			}
		}
		if !t.HiOpen && string(term) > t.Hi {
			break
		}
		if t.holds(string(term)) {
			u.add(p)
		}
	}
	return u, nil
}

func (t *termRange) holds(s string) bool {
	above := t.LoOpen || s > t.Lo || t.LoIncl && s == t.Lo
	return above && (t.HiOpen || s < t.Hi || t.HiIncl && s == t.Hi)
}

func (t *termRange) appendKey(key []byte) []byte {
	bound := func(open, included bool, text string) {
		switch {
		case open:
			key = append(key, '*')
			return
		case included:
			key = append(key, '=')
		}
		key = strconv.AppendQuote(key, text)
	}
	key = append(key, '<')
	bound(t.LoOpen, t.LoIncl, t.Lo)
	key = append(key, ',')
	bound(t.HiOpen, t.HiIncl, t.Hi)
	return key
}
func (t *termRange) price() int { return 30 }

// intRange is a test for whole numbers, dates or booleans in a closed range.
type intRange struct{ lo, hi int64 }

// itemID is the field with the item's ID. Segments find the document of an ID without reading a column.
const itemID = "id"

func (t *intRange) find(_ context.Context, s *segment.Segment, f *segment.Field, _ *roaring.Bitmap) (set, error) {
	switch {
	case hasTerms(query.Field{Type: f.Type()}) || f.Type() == query.Double:
		return set{}, nil
	case f.Type() == query.Boolean: // segments store booleans as terms
		var found []set
		for v, term := range []string{"false", "true"} {
			if p, ok := f.Term(term); ok && t.lo <= int64(v) && int64(v) <= t.hi {
				found = append(found, borrowed(p.Bitmap()))
			}
		}
		return or(found), nil
	case f.Name() == query.CreatedOn:
		lo := max(t.lo, math.MinInt64+1) // math.MinInt64 stands for no date
		if t.hi < lo {
			return set{}, nil
		}
		return between(s.Place(t.hi, item.ID(math.MaxInt64)), s.Place(lo, item.ID(math.MinInt64))), nil
	case f.Name() == itemID && t.lo == t.hi:
		// Every reply to a POST request looks up its item by ID, so avoid reading a column.
		if doc, ok := s.Find(t.lo); ok {
			return between(doc, doc+1), nil
		}
		return set{}, nil
	}
	return owned(f.IntRange(t.lo, t.hi)), nil
}

// inColumn reports whether find has to scan a column because no faster way exists.
func (t *intRange) inColumn(f *segment.Field) bool {
	return (f.Type() == query.Long || f.Type() == query.Date) && f.Name() != query.CreatedOn && (f.Name() != itemID || t.lo != t.hi)
}

// oneInColumn is like inColumn, for a range of a single number.
func (t *intRange) oneInColumn(f *segment.Field) bool { return t.lo == t.hi && t.inColumn(f) }

func (t *intRange) holds(string) bool { return false }

func (t *intRange) appendKey(key []byte) []byte {
	key = strconv.AppendInt(append(key, '['), t.lo, 10)
	return strconv.AppendInt(append(key, ','), t.hi, 10)
}
func (t *intRange) price() int {
	if t.lo == t.hi {
		return 1 // the Cache keeps the documents
	}
	return 10
}

// floatRange is a test for floating-point numbers in a closed range.
type floatRange struct{ lo, hi float64 }

func (t *floatRange) find(_ context.Context, _ *segment.Segment, f *segment.Field, _ *roaring.Bitmap) (set, error) {
	if f.Type() != query.Double {
		return set{}, nil
	}
	return owned(f.FloatRange(t.lo, t.hi)), nil
}

func (t *floatRange) holds(string) bool { return false }

func (t *floatRange) appendKey(key []byte) []byte {
	key = strconv.AppendUint(append(key, '('), math.Float64bits(t.lo), 16)
	return strconv.AppendUint(append(key, ','), math.Float64bits(t.hi), 16)
}
func (t *floatRange) price() int { return 10 }
