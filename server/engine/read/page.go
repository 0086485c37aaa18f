package read

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Page returns a page of items. See library.Library.Read. r.Now is the time of the Snapshot, truncated to milliseconds.
func (s *Snapshot) Page(ctx context.Context, r library.Read) (*library.Page, error) {
	l, err := s.listing(ctx, r)
	if err != nil {
		return nil, err
	}
	page := &library.Page{Version: r.IfVersion, Expires: l.until}
	if r.IfVersion != "" && r.IfVersion == l.newest() {
		return page, library.ErrNotModified // nothing in the property has changed
	}
	if err := l.bind(ctx); err != nil {
		return nil, err
	}
	if r.Limit == 0 { // count first: later calls of counts return the same numbers
		if _, err := l.count(ctx, false); err != nil {
			return nil, err
		}
	}
	if page.Version, err = l.version(ctx); err != nil {
		return nil, err
	}
	if r.IfVersion == page.Version {
		return page, library.ErrNotModified
	}
	var after *eval.Place
	if r.After != "" {
		after, r.Offset = &eval.Place{}, 0
		if err := s.property.Store.Sealer().Open(r.After, l.Identity, after); err != nil {
			return nil, err
		}
	}
	hits, next, err := l.page(ctx, r, after)
	if err != nil {
		return nil, err
	}
	if page.Total, err = l.total(ctx); err != nil {
		return nil, err
	}
	if next != nil {
		if page.Next, err = s.property.Store.Sealer().Seal(l.Identity, next); err != nil {
			return nil, err
		}
	}
	page.Count = len(hits)
	if r.OnlyIDs {
		page.IDs, page.Items = make([]item.ID, len(hits)), r.Into
		for i, h := range hits {
			page.IDs[i] = s.corpus.Parts[h.Part].Segment.ID(h.Doc)
		}
		return page, nil
	}
	page.Items, err = s.appendItems(ctx, r, hits)
	return page, err
}

// page returns the hits of a page, and the place after which the next page begins. The place is nil for the last page. The parameter
// after is the place of a cursor, or nil for a page that begins at r.Offset.
func (l *listing) page(ctx context.Context, r library.Read, after *eval.Place) ([]search.Hit, *eval.Place, error) {
	if r.Limit == 0 {
		return nil, nil, nil
	}
	if err := l.arrange(ctx); err != nil {
		return nil, nil, err
	}
	// Request one extra hit, which shows whether there is a next page.
	ranked := int64(l.snapshot.property.RankedHits)
	if ends := min(r.Offset, ranked) + int64(r.Limit) + 1; l.Order.Scored() && len(l.Order) == 1 && after == nil && ends <= ranked {
		if err := l.best(ctx, int(ends)); err != nil {
			return nil, nil, err
		}
	}
	totals, err := l.totals(ctx)
	if err != nil {
		return nil, nil, err
	}
	total := sum(totals)
	first := 0
	if after != nil {
		if l.Order.Scored() {
			if after, err = l.present(ctx, after); err != nil {
				return nil, nil, err
			}
		}
		if after.Rest && len(l.queries) > 1 {
			first = 1
		}
	}
	most := int(min(int64(r.Limit), total)) + 1
	hits := make([]search.Hit, 0, most)
	favourites, skip := 0, r.Offset
	for i := first; i < len(l.queries) && len(hits) < most; i++ {
		if after == nil && skip >= totals[i] {
			skip -= totals[i]
			continue
		}
		if hits, err = l.take(ctx, hits, i, after, skip, most-len(hits)); err != nil {
			return nil, nil, err
		}
		if i == 0 {
			favourites = len(hits)
		}
		after, skip = nil, 0
	}
	if len(hits) <= r.Limit {
		return hits, nil, nil
	}
	hits = hits[:r.Limit]
	next := l.order.Place(hits[r.Limit-1])
	next.Rest = len(l.queries) > 1 && r.Limit > favourites
	return hits, &next, nil
}

// present returns the current place of the item that a cursor names, because the item's score may have changed since the cursor was
// created. If the item is no longer listed, present returns the place that the cursor contains.
func (l *listing) present(ctx context.Context, at *eval.Place) (*eval.Place, error) {
	for i := range l.ranked {
		known, err := l.ranked[i].has(ctx, l.order, *at)
		if err != nil {
			return nil, err
		}
		if known && at.Rest == (i > 0) {
			return at, nil
		}
	}
	h, there := l.snapshot.find(at.ID)
	if !there {
		return at, nil
	}
	for i, q := range l.queries {
		score, listed, err := q.Score(ctx, h.Part, h.Doc)
		if err != nil {
			return nil, err
		}
		if listed {
			h.Score = score
			now := l.order.Place(h)
			now.Rest = i > 0
			return &now, nil
		}
	}
	return at, nil
}
