package search

import (
	"context"
	"strconv"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// pattern is a test for terms that an automaton accepts.
type pattern struct {
	automaton automaton.Automaton
	source    string
	regexp    bool
}

func (t *pattern) find(ctx context.Context, s *segment.Segment, f *segment.Field, _ *roaring.Bitmap) (set, error) {
	return findUnited(ctx, t, s, f)
}

func (t *pattern) unite(ctx context.Context, s *segment.Segment, f *segment.Field, c *Cache) (*union, error) {
	u := newUnion(s.Len(), c)
	if !hasTerms(query.Field{Type: f.Type()}) {
		return u, nil
	}
	looked := 0
	for _, p := range f.Match(t.automaton) {
		if looked++; looked%checkTerms == 0 {
			if err := interrupted(ctx); err != nil {
				return nil, err
			}
		}
		u.add(p)
	}
	return u, nil
}

func (t *pattern) holds(keyword string) bool { return automaton.Match(t.automaton, keyword) }

func (t *pattern) appendKey(key []byte) []byte {
	sign := byte('*')
	if t.regexp {
		sign = '/'
	}
	return strconv.AppendQuote(append(key, sign), t.source)
}
func (t *pattern) price() int { return 40 }
