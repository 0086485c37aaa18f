package reference

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// search is one walk over all items of a property.
type search struct {
	p       *property
	listing library.Listing
	now     time.Time
	sorter  *eval.Sorter
	root    plan.Node
	// favourite is nil where there is none.
	favourite plan.Node
}

// plan gives one tree of a listing its meaning at a time.
func (p *property) plan(part library.Part, now time.Time) (*plan.Plan, error) {
	return plan.Build(part.Query, plan.Options{
		Audience: part.Audience, Now: now, Fields: slices.Sorted(maps.Keys(p.fields)),
	})
}

// search prepares the walk for a listing.
func (p *property) search(listing library.Listing, now time.Time) (*search, error) {
	sorter, err := eval.NewSorter(listing.Order, func(id int64) int64 { return library.RandomPlace(listing.Seed, id) })
	if err != nil {
		return nil, err
	}
	s := &search{p: p, listing: listing, now: now, sorter: sorter}
	var roots []plan.Node
	for _, part := range listing.Parts {
		pl, err := p.plan(part, now)
		if err != nil {
			return nil, err
		}
		roots = append(roots, pl.Root)
	}
	s.root = roots[0]
	if len(roots) > 1 {
		s.root = plan.Bool{Must: roots}
	}
	if listing.Favourite != nil {
		pl, err := p.plan(library.Part{Query: library.FavouriteTerm(*listing.Favourite), Audience: query.Private}, now)
		if err != nil {
			return nil, err
		}
		s.favourite = pl.Root
	}
	return s, nil
}

// run walks all items and puts those that match in order. It ends early, with the cause, when ctx does.
func (s *search) run(ctx context.Context) (*result, error) {
	matcher, err := s.p.corpus.Compile(ctx, s.root, eval.Options{Unscored: !s.listing.Order.Scored()})
	if err != nil {
		return nil, err
	}
	docs, err := matcher.Search(ctx)
	if err != nil {
		return nil, err
	}
	isRest := func(*eval.Doc) bool { return false }
	if s.favourite != nil {
		m, err := s.p.corpus.Compile(ctx, s.favourite, eval.Options{Unscored: true})
		if err != nil {
			return nil, err
		}
		isRest = func(d *eval.Doc) bool {
			_, ok := m.Match(d)
			return !ok
		}
	}
	found := &result{places: make([]eval.Place, len(docs))}
	for i, d := range docs {
		found.places[i] = s.sorter.Place(d)
		found.places[i].Rest = isRest(d.Doc)
	}
	slices.SortFunc(found.places, func(a, b eval.Place) int { return a.Compare(b, s.listing.Order) })
	// What rules bring can change by time too: in the items' units, and in what tags match.
	until, err := s.p.boundary(s.listing.Parts, s.now)
	if err != nil {
		return nil, err
	}
	found.until = earlier(until, s.p.settled.to)
	return found, nil
}

// earlier returns the earlier of two instants, of which a zero one never comes.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
