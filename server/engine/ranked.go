package engine

import (
	"context"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/item"
)

// ranked is a listing by relevance as far as it was worked out: its best hits, kept with the listing because the pages
// that are asked for are nearly always the first ones.
type ranked struct {
	mu    sync.Mutex
	best  []search.Hit
	total int64
	// whole is true when best is all of it.
	whole   bool
	counted bool
}

// maxRanked is how many hits a listing keeps in order; where there are no more, all are ranked at once.
const maxRanked = 4096

// rank returns the first hits of a listing by relevance, at least n where there are so many, and how many there are. The
// slice is read only.
func (l *listing) rank(ctx context.Context, n int) ([]search.Hit, int64, error) {
	r := &l.ranked
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.counted {
		for i := range l.queries {
			n, err := l.count(ctx, i)
			if err != nil {
				return nil, 0, err
			}
			r.total += n
		}
		r.counted = true
	}
	if r.whole || n <= len(r.best) {
		return r.best, r.total, nil
	}
	if n == 0 {
		return nil, r.total, nil
	}
	// The order of more keys than the score needs all values, and a large part of a listing is as dear as all of it.
	byScore := len(l.Order) == 1
	if !byScore || r.total <= maxRanked || int64(n) > r.total/4 {
		all, err := l.rankAll(ctx)
		if err != nil {
			return nil, 0, err
		}
		if len(all) <= maxRanked {
			r.best, r.whole = all, true
		}
		return all, r.total, nil
	}
	var best []search.Hit
	for _, q := range l.queries {
		if len(best) >= n {
			break
		}
		hits, _, err := q.Top(ctx, n-len(best))
		if err != nil {
			return nil, 0, err
		}
		best = append(best, hits...)
	}
	if len(best) <= maxRanked {
		r.best = best
	}
	return best, r.total, nil
}

// rankAll returns all hits by relevance.
func (l *listing) rankAll(ctx context.Context) ([]search.Hit, error) {
	var all []search.Hit
	for _, q := range l.queries {
		hits, err := q.Ordered(ctx, l.order)
		if err != nil {
			return nil, err
		}
		all = append(all, hits...)
	}
	return all, nil
}

// count counts the live documents of one of the listing's queries.
func (l *listing) count(ctx context.Context, i int) (int64, error) {
	var n int64
	for part, p := range l.moment.parts {
		v, err := l.matches(ctx, l.queries[i], part)
		if err != nil {
			return 0, err
		}
		n += live(v, p.Dead)
	}
	return n, nil
}

// live counts the documents of a view that are not dead.
func live(v *view, dead *roaring.Bitmap) int64 {
	n := int64(v.docs.GetCardinality())
	if gone := v.gone(dead); gone != nil {
		n -= int64(gone.GetCardinality())
	}
	return n
}

// holds reports whether an item is in the listing, and where.
func (l *listing) holds(ctx context.Context, id item.ID) (search.Hit, bool, error) {
	h, ok := l.moment.find(id)
	if !ok {
		return h, false, nil
	}
	for _, q := range l.queries {
		v, err := l.matches(ctx, q, h.Part)
		if err != nil {
			return h, false, err
		}
		if v.docs.Contains(h.Doc) {
			return h, true, nil
		}
	}
	return h, false, nil
}

// ids lists the items of hits.
func (m *moment) ids(hits []search.Hit) []item.ID {
	ids := make([]item.ID, len(hits))
	for i, h := range hits {
		ids[i] = m.parts[h.Part].Segment.ID(h.Doc)
	}
	return ids
}
