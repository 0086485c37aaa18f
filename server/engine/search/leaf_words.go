package search

import (
	"context"
	"slices"
	"strconv"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// words is a test for any of some exact terms: a single one, or the expansions of a fuzzy word; in byte order.
type words struct{ terms []string }

func (t *words) find(ctx context.Context, s *segment.Segment, f *segment.Field, _ *roaring.Bitmap) (set, error) {
	if len(t.terms) == 1 {
		p, ok := f.Term(t.terms[0])
		if !ok {
			return set{}, nil
		}
		return borrowed(p.Bitmap()), nil
	}
	u := newUnion(s.Len())
	for _, term := range t.terms {
		if err := interrupted(ctx); err != nil {
			return set{}, err
		}
		if p, ok := f.Term(term); ok {
			u.add(p)
		}
	}
	return u.set(), nil
}

func (t *words) holds(keyword string) bool { return slices.Contains(t.terms, keyword) }

func (t *words) appendKey(key []byte) []byte {
	key = append(key, '=')
	for i, term := range t.terms {
		if i > 0 {
			key = append(key, ',')
		}
		key = strconv.AppendQuote(key, term)
	}
	return key
}

func (t *words) price() int {
	if len(t.terms) == 1 {
		return 1
	}
	return 4 + len(t.terms)/4
}
