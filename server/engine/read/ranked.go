package read

import (
	"context"
	"slices"
	"sort"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/flight"
)

// ranked caches ordered hits of one query of a listing by relevance. Clients usually request the first pages, or one page after the
// other. For this reason, ranked keeps two runs of at most Options.RankedHits hits. A hit takes 16 bytes. If a query has at most
// Options.RankedHits hits, the first request beyond the cached hits ranks all hits.
type ranked struct {
	mu flight.Mutex
	// first begins with the best hit. later holds hits that come after the place of a recent cursor.
	first, later rankedRun
}

// rankedRun holds consecutive hits of a query in the order of the listing.
type rankedRun struct {
	// after is the place after which the run begins. It is nil if the run begins with the best hit.
	after *eval.Place
	hits  []search.Hit
	// whole is true if no hit comes after the run.
	whole bool
}

// aheadPages is the number of pages that are ranked at once for a cursor if the listing was read before and has not changed since.
const aheadPages = 16

// best finds and caches the n best hits of each query, unless the hits have already been counted. The same pass counts all hits.
func (l *listing) best(ctx context.Context, n int) error {
	_, err := l.counted.Get(ctx, func() ([][]int64, error) {
		counts := make([][]int64, len(l.queries))
		for i, q := range l.queries {
			hits, of, err := q.Top(ctx, n, nil)
			if err != nil {
				return nil, err
			}
			if err := l.ranked[i].keep(ctx, rankedRun{hits: hits, whole: int64(len(hits)) == sum(of)}); err != nil {
				return nil, err
			}
			counts[i] = of
		}
		return counts, nil
	})
	return err
}

// keep sets the first run.
func (r *ranked) keep(ctx context.Context, best rankedRun) error {
	if err := r.mu.Lock(ctx); err != nil {
		return err
	}
	defer r.mu.Unlock()
	r.first = best
	return nil
}

// rank returns at most `limit` hits of query i. The hits start after the place `after`, or after the first `skip` hits if `after` is nil.
// The slice is read-only.
func (l *listing) rank(ctx context.Context, i int, after *eval.Place, skip int64, limit int) ([]search.Hit, error) {
	totals, err := l.totals(ctx)
	if err != nil {
		return nil, err
	}
	total := totals[i]
	skip = min(skip, total)
	wanted := int(min(skip+int64(limit), total))
	r := &l.ranked[i]
	if err := r.mu.Lock(ctx); err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	hits, known := r.first.from(l.order, after, wanted)
	if !known && after != nil {
		hits, known = r.later.from(l.order, after, wanted)
	}
	if !known {
		if hits, err = l.rankAnew(ctx, i, total, after, wanted); err != nil {
			return nil, err
		}
	}
	hits = hits[min(int(skip), len(hits)):]
	return hits[:min(limit, len(hits))], nil
}

// rankAnew ranks hits without using the cached runs, and caches the hits that fit into a run. It returns at least n hits after the place,
// or all such hits if there are fewer.
func (l *listing) rankAnew(ctx context.Context, i int, total int64, after *eval.Place, n int) ([]search.Hit, error) {
	q, r, maxRanked := l.queries[i], &l.ranked[i], l.snapshot.property.RankedHits
	// Rank all hits if they fit into a run, if the order has keys after the score (Top supports none), or if a large share of the hits is
	// needed, because ranking a large share costs as much as ranking all.
	if len(l.Order) > 1 || total <= int64(maxRanked) || after == nil && int64(n) > total/4 {
		all, err := q.Ordered(ctx, l.order)
		if err != nil {
			return nil, err
		}
		if len(all) <= maxRanked {
			r.first = rankedRun{hits: all, whole: true}
		}
		if after == nil {
			return all, nil
		}
		rest := all[follows(l.order, all, *after):]
		if len(all) > maxRanked {
			kept := rest[:min(maxRanked, len(rest))]
			r.later = rankedRun{after: after, hits: slices.Clone(kept), whole: len(kept) == len(rest)}
		}
		return rest, nil
	}
	if after == nil {
		best, _, err := q.Top(ctx, n, nil)
		if err == nil && len(best) <= maxRanked {
			r.first = rankedRun{hits: best, whole: int64(len(best)) == total}
		}
		return best, err
	}
	most := n
	if len(r.first.hits)+len(r.later.hits) > 0 { // the listing has been read before, and its content has not changed since
		most = max(n, min(n*aheadPages, maxRanked))
	}
	rest, _, err := q.Top(ctx, most, after)
	if err == nil && len(rest) <= maxRanked {
		r.later = rankedRun{after: after, hits: rest, whole: len(rest) < most}
	}
	return rest, err
}

// follows returns the index of the first hit that comes after a place.
func follows(o *search.Order, hits []search.Hit, at eval.Place) int {
	return sort.Search(len(hits), func(i int) bool { return o.ComparePlace(hits[i], at) > 0 })
}

// from returns the hits of the run that come after a place. It returns false if the run begins after the place. It also returns false if
// the run has fewer than n such hits and the query may have more.
func (r *rankedRun) from(o *search.Order, after *eval.Place, n int) ([]search.Hit, bool) {
	hits := r.hits
	if after != nil {
		if r.after != nil && o.ComparePlaces(*after, *r.after) < 0 {
			return nil, false
		}
		hits = hits[follows(o, hits, *after):]
	}
	return hits, r.whole || len(hits) >= n
}

// has reports whether one of the runs has a hit at exactly this place.
func (r *ranked) has(ctx context.Context, o *search.Order, at eval.Place) (bool, error) {
	if err := r.mu.Lock(ctx); err != nil {
		return false, err
	}
	defer r.mu.Unlock()
	for _, run := range []rankedRun{r.first, r.later} {
		_, found := slices.BinarySearchFunc(run.hits, at, o.ComparePlace)
		if found {
			return true, nil
		}
	}
	return false, nil
}
