package read

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/flight"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// listing is the list of items from which a library.Read on a snapshot takes a page. The snapshot caches it, so that the next page needs no
// parsing, planning or binding.
type listing struct {
	library.Listing
	snapshot *Snapshot
	// now is the value of `now` in the queries.
	now time.Time
	// moves is set if the queries contain `now`.
	moves    bool
	audience query.Audience
	// valid is the interval in which the matches of the queries do not depend on the time. until is the next time at which the matches of the
	// queries or rules can change without a write; zero means never.
	valid interval
	until time.Time
	name  listingName
	// bind computes bound. Read the fields queries and ranked only after bind has returned.
	bound flight.Value[struct{}]
	// queries holds either a single query for all items, or one query for items with the favorite tag and one for the other items.
	queries []*search.Query
	// arrange computes arranged. Read the field order only after arrange has returned. A total needs no order.
	arranged flight.Value[struct{}]
	order    *search.Order
	// ranked caches some of the hits of each query in their order. It is used for listings by relevance.
	ranked []ranked
	// counted is the result of counts. For a listing by relevance, best may compute it instead.
	counted flight.Value[[][]int64]
	// versioned is the value of Page.Version.
	versioned flight.Value[string]
	// newestVersion is the result of newest.
	newestVersion atomic.Pointer[string]
}

// listingName identifies a listing within a snapshot. With it, listings can be compared without comparing their queries. It is small,
// because even a map with a single name has room for eight.
type listingName struct {
	// filter is set if the listing is a stored filter without a further query of the caller.
	filter *definitions.Filter
	// identity describes what a read adds to the filter, or nothing. If filter is nil, identity describes the listing completely.
	identity string
	audience query.Audience
}

// maxListings is the number of listings that a snapshot caches.
const maxListings = 4096

// listing returns the listing of a read, from the cache if possible. It returns the same errors as library.Library.Read.
func (s *Snapshot) listing(ctx context.Context, r library.Read) (*listing, error) {
	name, of, err := s.name(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	known := s.listings[name]
	s.mu.Unlock()
	if known != nil && known.valid.contains(r.Now) {
		return known, nil
	}
	if name.filter != nil {
		if of, err = s.Catalogue.Listing(r); err != nil {
			return nil, err
		}
	}
	fresh, err := s.newListing(ctx, of, name, r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	makeRoom(s.listings, maxListings)
	s.listings[name] = fresh
	return fresh, nil
}

// name returns the name of the listing of a read. It also returns the library.Listing, unless the read lists a stored filter without a
// further query.
func (s *Snapshot) name(r library.Read) (name listingName, of library.Listing, err error) {
	name.audience = r.Audience
	if r.Filter == nil || r.Where != nil {
		of, err = s.Catalogue.Listing(r)
		name.identity = of.Identity
		return name, of, err
	}
	if name.filter, err = s.Catalogue.Filter(*r.Filter); err != nil {
		return name, of, err
	}
	var added identity
	added.add('c', r.Scope.String())
	if r.Favourite != nil {
		added.add('n', r.Favourite.Namespace)
		added.add('k', r.Favourite.Key)
	}
	order := r.Order
	if order != nil {
		added.add('o', order.String())
	} else {
		parsed, err := name.filter.Parsed()
		if err != nil {
			return name, of, err
		}
		order = parsed.Order
	}
	if order.Random() {
		added.add('s', r.Seed)
	}
	name.identity = string(added)
	return name, of, nil
}

// identity describes something by the parts that differ from the default.
type identity []byte

// add adds a part unless it is empty. The length of the text separates the parts, whatever the text contains.
func (i *identity) add(part byte, text string) {
	if text != "" {
		*i = append(append(strconv.AppendInt(append(*i, part), int64(len(text)), 10), ' '), text...)
	}
}

// newListing returns a listing that is not yet bound, and determines how long it is valid. If the last binding of the same listing is still
// valid, newListing uses the time of that binding, so that cached results can be reused.
func (s *Snapshot) newListing(ctx context.Context, of library.Listing, name listingName, r library.Read) (*listing, error) {
	l := &listing{Listing: of, snapshot: s, audience: r.Audience, name: name, now: r.Now}
	l.moves = slices.ContainsFunc(of.Parts, func(p library.Part) bool { return query.UsesNow(p.Query) })
	if l.moves {
		var err error
		before := s.property.versions.boundAt(name)
		if !before.IsZero() && before.Before(r.Now) {
			if l.valid, err = s.standsFor(ctx, of, before); err == nil && l.valid.contains(r.Now) {
				l.now = before
			}
		}
		if l.now.Equal(r.Now) {
			if l.valid, err = s.standsFor(ctx, of, r.Now); err != nil {
				return nil, err
			}
			s.property.versions.setBound(name, r.Now)
		}
	}
	// The results of rules, which are the tags and units of items, can change with time too.
	l.until = earlier(l.valid.to, s.rules.to)
	return l, nil
}

// standsFor returns the interval, beginning at the time now, in which the matches of a listing's queries do not depend on the time.
func (s *Snapshot) standsFor(ctx context.Context, of library.Listing, now time.Time) (interval, error) {
	valid := interval{from: now}
	for _, part := range of.Parts {
		if !query.UsesNow(part.Query) {
			continue
		}
		until, err := s.boundary(ctx, part.Query, part.Audience, now)
		if err != nil {
			return valid, err
		}
		valid.to = earlier(valid.to, until)
	}
	return valid, nil
}

// bind plans and binds the listing on the first call.
func (l *listing) bind(ctx context.Context) error {
	_, err := l.bound.Get(ctx, func() (struct{}, error) { return struct{}{}, l.bindQueries(ctx) })
	return err
}

func (l *listing) bindQueries(ctx context.Context) error {
	s := l.snapshot
	root, err := s.root(ctx, l.Listing, l.now)
	if err != nil {
		return err
	}
	roots := []plan.Node{root}
	if l.Favourite != nil {
		favourite, err := s.plan(ctx, library.FavouriteTerm(*l.Favourite), query.Private, l.now)
		if err != nil {
			return err
		}
		// Use Const without a score, because the tag must not affect the relevance.
		roots = []plan.Node{
			plan.Bool{Must: []plan.Node{root, plan.Const{Node: favourite}}},
			plan.Bool{Must: []plan.Node{root}, MustNot: []plan.Node{favourite}},
		}
	}
	l.queries, l.ranked = make([]*search.Query, len(roots)), make([]ranked, len(roots))
	for i, root := range roots {
		if l.queries[i], err = search.Bind(ctx, root, s.corpus); err != nil {
			return err
		}
		if l.moves {
			l.queries[i].Lasting = search.Fleeting
		} else if l.name.filter != nil {
			l.queries[i].Lasting = search.Stored
		}
	}
	return nil
}

// arrange binds the order of the listing on the first call.
func (l *listing) arrange(ctx context.Context) error {
	_, err := l.arranged.Get(ctx, func() (_ struct{}, err error) {
		l.order, err = l.snapshot.corpus.Order(ctx, l.Order, func(id item.ID) int64 { return library.RandomPlace(l.Seed, id) })
		return struct{}{}, err
	})
	return err
}

// root returns one plan that combines all parts of a listing.
func (s *Snapshot) root(ctx context.Context, of library.Listing, now time.Time) (plan.Node, error) {
	return eval.Root(of.Parts, func(part library.Part) (plan.Node, error) { return s.plan(ctx, part.Query, part.Audience, now) })
}

// counts returns the number of live documents that match, for each query and part. The slices are read-only.
func (l *listing) counts(ctx context.Context) ([][]int64, error) { return l.count(ctx, true) }

// count is like counts. If listed is false, it makes no views that only a page of items needs.
func (l *listing) count(ctx context.Context, listed bool) ([][]int64, error) {
	return l.counted.Get(ctx, func() ([][]int64, error) {
		counts := make([][]int64, len(l.queries))
		for i, q := range l.queries {
			var err error
			if counts[i], err = q.Counts(ctx, listed); err != nil {
				return nil, err
			}
		}
		return counts, nil
	})
}

// total returns the number of items of the listing.
func (l *listing) total(ctx context.Context) (int64, error) {
	totals, err := l.totals(ctx)
	return sum(totals), err
}

// totals returns the number of items that match each query.
func (l *listing) totals(ctx context.Context) ([]int64, error) {
	counts, err := l.counts(ctx)
	if err != nil {
		return nil, err
	}
	totals := make([]int64, len(counts))
	for i, of := range counts {
		totals[i] = sum(of)
	}
	return totals, nil
}

func sum(counts []int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// take appends at most `limit` hits of query i to hits. The appended hits start after the place `after`, or after the first `skip` hits if
// `after` is nil.
func (l *listing) take(ctx context.Context, hits []search.Hit, i int, after *eval.Place, skip int64, limit int) ([]search.Hit, error) {
	if l.Order.Scored() {
		more, err := l.rank(ctx, i, after, skip, limit)
		return append(hits, more...), err
	}
	return l.queries[i].Page(ctx, l.order, l.Seed, hits, after, skip, limit)
}

// Matching lists the items that match a query, in ascending order of IDs.
func (s *Snapshot) Matching(ctx context.Context, r library.Read) ([]item.ID, error) {
	l, err := s.listing(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := l.bind(ctx); err != nil {
		return nil, err
	}
	var ids []item.ID
	for _, p := range s.corpus.Parts {
		v, err := l.queries[0].Match(ctx, p)
		if err != nil {
			return nil, err
		}
		for docs := v.Docs().Iterator(); docs.HasNext(); {
			if doc := docs.Next(); p.Lives(doc) {
				ids = append(ids, p.Segment.ID(doc))
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}
