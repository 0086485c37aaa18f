package reference

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// search is one walk over all items of a property.
type search struct {
	p       *property
	listing library.Listing
	now     time.Time
	ranker  *ranker
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
	ranker, err := newRanker(listing)
	if err != nil {
		return nil, err
	}
	s := &search{p: p, listing: listing, now: now, ranker: ranker}
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

// hit is an item that was found, and where it stands.
type hit struct {
	id item.ID
	at position
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
	isFavourite := func(*eval.Doc) bool { return false }
	if s.favourite != nil {
		m, err := s.p.corpus.Compile(ctx, s.favourite, eval.Options{Unscored: true})
		if err != nil {
			return nil, err
		}
		isFavourite = func(d *eval.Doc) bool {
			_, ok := m.Match(d)
			return ok
		}
	}
	found := &result{}
	hits := make([]hit, len(docs))
	for i, d := range docs {
		favourite := isFavourite(d.Doc)
		if favourite {
			found.first++
		}
		hits[i] = hit{id: d.Doc.ID(), at: s.ranker.position(d, favourite)}
	}
	slices.SortFunc(hits, func(a, b hit) int { return s.ranker.compare(a.at, b.at) })
	found.ids = make([]item.ID, len(hits))
	for i, h := range hits {
		found.ids[i] = h.id
	}
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
