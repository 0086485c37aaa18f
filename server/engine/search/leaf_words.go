package search

import (
	"context"
	"slices"
	"strconv"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// words is a test that passes if a document has any of the terms: a single exact term, or the expansions of a fuzzy word in byte order.
type words struct {
	terms []string
	// own holds the postings of the terms; nil if they have not been looked up
	own []ownPostings
}

// in returns the postings of a term in a field of one segment.
func (t *words) in(f *segment.Field, term int) (segment.Postings, bool) {
	if t.own == nil {
		return f.Term(t.terms[term])
	}
	return t.own[term].in(f, t.terms[term])
}

func (t *words) find(ctx context.Context, s *segment.Segment, f *segment.Field, _ *roaring.Bitmap) (set, error) {
	if len(t.terms) == 1 {
		p, ok := t.in(f, 0)
		if !ok {
			return set{}, nil
		}
		return borrowed(p.Bitmap()), nil
	}
	return findUnited(ctx, t, s, f)
}

func (t *words) unite(ctx context.Context, s *segment.Segment, f *segment.Field, c *Cache) (*union, error) {
	u := newUnion(s.Len(), c)
	for i := range t.terms {
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		if p, ok := t.in(f, i); ok {
			u.add(p)
		}
	}
	return u, nil
}

// count returns the number of live documents of a part that have one of the terms. It returns false if more than one of the terms occurs in
// the part.
func (t *words) count(p segment.Part, f *segment.Field) (int64, bool) {
	var only segment.Postings
	for i := range t.terms {
		found, ok := t.in(f, i)
		switch {
		case !ok:
		case only.Len() > 0:
			return 0, false
		default:
			only = found
		}
	}
	return liveOf(p, only), true
}

// liveOf returns the number of live documents of a term.
func liveOf(p segment.Part, postings segment.Postings) int64 {
	n := int64(postings.Len())
	if n > 0 && p.Dead != nil {
		n -= int64(postings.Bitmap().AndCardinality(p.Dead))
	}
	return n
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
