package search

import (
	"context"
	"fmt"
	"slices"
	"weak"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/eval"
)

// Counts returns the number of live matches for each part. If listed is true, the caller also lists the matches, so Counts makes their
// views, unless the query is a single term. Otherwise, it makes a view only if it cannot count without one, or if it has counted the
// matches before and the tombstones have changed since.
func (q *Query) Counts(ctx context.Context, listed bool) ([]int64, error) {
	counts := make([]int64, len(q.corpus.Parts))
	counted, _ := q.match.(counter)
	if listed && q.match.price() > 1 {
		counted = nil
	}
	e := evaluation{corpus: q.corpus}
	for i, p := range q.corpus.Parts {
		if counted != nil {
			e.part, e.terms = p, e.terms[:0]
			n, ok := counted.count(ctx, &e)
			e.release()
			if ok {
				counts[i] = n
				continue
			}
		}
		if !listed {
			n, ok, err := q.united(ctx, p)
			if err != nil {
				return nil, fmt.Errorf("count the matches in a segment: %w", err)
			}
			if ok {
				counts[i] = n
				continue
			}
		}
		v, err := q.Match(ctx, p)
		if err != nil {
			return nil, err
		}
		counts[i] = v.live(p.Dead)
	}
	return counts, nil
}

// united counts the live matches of a query that only unites the postings of terms, without making a bitmap of the matches. The Cache keeps
// the number. united returns false for other queries, and if the Cache already has the view. It also returns false if the tombstones have
// changed since the matches were counted, because a query that is counted repeatedly is worth a view, from which it is counted quickly.
func (q *Query) united(ctx context.Context, p segment.Part) (n int64, ok bool, err error) {
	l, ok := q.match.(*leaf)
	if !ok {
		return 0, false, nil
	}
	t, ok := l.uniter()
	if !ok {
		return 0, false, nil
	}
	f := p.Segment.Field(l.field.Name)
	if f == nil {
		return 0, true, nil
	}
	d, live := q.corpus.of(p), p.Live()
	if d.has(q.key) {
		return 0, false, nil
	}
	v, err := d.get(ctx, "count "+q.key, func() (*View, error) {
		u, err := t.unite(ctx, p.Segment, f, q.corpus.Cache)
		if err != nil {
			return nil, err
		}
		return &View{tally: &tally{live, u.count(d.deadWords(p))}}, nil
	})
	if err != nil || v.tally.live != live {
		return 0, false, err
	}
	return v.tally.found, true, nil
}

// Page appends at most `limit` live matches to hits, in an order that does not use scores. If the parameter `after` is not nil, the page
// starts after that place. Otherwise it starts after the first `skip` matches. All pages cost about the same. seed identifies the sequence
// of a random order.
func (q *Query) Page(ctx context.Context, o *Order, seed string, hits []Hit, after *eval.Place, skip int64, limit int) ([]Hit, error) {
	s, err := q.stream(ctx, o, seed)
	if err != nil {
		return nil, err
	}
	if after != nil {
		return s.take(hits, s.after(*after), limit), nil
	}
	return s.take(hits, s.split(int(skip)), limit), nil
}

// stream returns the live matches in an order.
func (q *Query) stream(ctx context.Context, o *Order, seed string) (*stream, error) {
	if recent := q.recent.Load(); recent != nil && recent.seed == seed && recent.bare.order == o {
		if s := recent.restore(); s != nil {
			return s, nil
		}
	}
	views := make([]*View, len(q.corpus.Parts))
	for part := range views {
		v, err := q.ordered(ctx, o, seed, part)
		if err != nil {
			return nil, err
		}
		views[part] = v
	}
	s := newStream(q.corpus, o, views)
	if q.corpus.Cache != nil {
		q.recent.Store(newRecentStream(s, seed))
	}
	return s, nil
}

// recentStream remembers a stream without its views and their lists of deleted documents, so that the Cache can still evict them. As long
// as the Cache keeps all views, the next page does not look them up.
type recentStream struct {
	seed string
	// bare is the stream, but its runs have only their parts and totals.
	bare  stream
	views []weak.Pointer[View]
}

func newRecentStream(s *stream, seed string) *recentStream {
	r := &recentStream{seed: seed, bare: *s, views: make([]weak.Pointer[View], len(s.runs))}
	r.bare.runs = make([]run, len(s.runs))
	for i, full := range s.runs {
		r.views[i] = weak.Make(full.view)
		r.bare.runs[i] = run{part: full.part, total: full.total}
	}
	return r
}

// restore returns the stream, or nil if the Cache no longer keeps one of its views. Checking the weak pointers is not enough: if a pointer
// is read while the garbage collector marks objects, its view survives that collection. Frequent reads could keep an evicted view in memory
// permanently.
func (r *recentStream) restore() *stream {
	s := r.bare
	s.runs = slices.Clone(r.bare.runs)
	for i := range s.runs {
		v := r.views[i].Value()
		if v == nil || !v.kept.Load() {
			return nil
		}
		s.corpus.Cache.used(v)
		s.show(&s.runs[i], v)
	}
	return &s
}

// ordered returns the matching documents of one part in the given order.
func (q *Query) ordered(ctx context.Context, o *Order, seed string, part int) (*View, error) {
	p := q.corpus.Parts[part]
	if o.key == "" {
		return q.Match(ctx, p)
	}
	return q.corpus.of(p).get(ctx, "order "+o.key+"\x00"+seed+"\x00"+q.key, func() (*View, error) {
		matched, err := q.Match(ctx, p)
		if err != nil {
			return nil, err
		}
		sorted, err := o.sorted(ctx, matched, part)
		v := &View{docs: matched.docs, sorted: sorted}
		if !o.order.Random() {
			v.lasting = q.Lasting
		}
		return v, err
	})
}

// sorted returns the documents of a view in the order. If the view has many documents, sorted sorts the whole segment once, keeps the
// result in the Cache, and picks the view's documents from it.
func (o *Order) sorted(ctx context.Context, v *View, part int) ([]uint32, error) {
	p := o.corpus.Parts[part]
	n := v.docs.GetCardinality()
	if o.order.Random() || n < uint64(p.Segment.Len()/4) {
		return o.sort(ctx, part, v.docs.ToArray(), nil)
	}
	whole, err := o.corpus.of(p).get(ctx, "order "+o.key, func() (*View, error) {
		sorted, err := o.Documents(ctx, part)
		return &View{sorted: sorted, lasting: Repeated}, err
	})
	if err != nil {
		return nil, err
	}
	if n == uint64(p.Segment.Len()) {
		return whole.sorted, nil
	}
	picked := make([]uint32, 0, n)
	words := make([]uint64, (p.Segment.Len()+63)/64)
	v.docs.WriteDenseTo(words)
	for _, doc := range whole.sorted {
		if words[doc/64]>>(doc%64)&1 == 1 {
			picked = append(picked, doc)
		}
	}
	return picked, nil
}
