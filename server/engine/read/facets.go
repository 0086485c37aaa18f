package read

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Facets counts the values of a field among the items that match r. See library.Library. r.Now is the time of the Snapshot, truncated to
// milliseconds.
func (s *Snapshot) Facets(ctx context.Context, r library.Read, f library.Facet) (*library.Facets, error) {
	counter, field, err := library.NewFacetCounter(f, r.Audience)
	if err != nil {
		return nil, err
	}
	l, err := s.listing(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := l.bind(ctx); err != nil {
		return nil, err
	}
	total, err := s.corpus.CountValues(ctx, l.queries, field, counter)
	if err != nil {
		return nil, err
	}
	found := counter.Facets(total)
	found.Expires = l.until
	return found, nil
}
