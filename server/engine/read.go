package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// moment returns a property as it is at a time, and what lets go of it.
func (l *Library) moment(ctx context.Context, id library.PropertyID, now time.Time) (*moment, func(), error) {
	p, err := l.follower.served(id)
	if err != nil {
		return nil, nil, err
	}
	return p.at(ctx, now)
}

// Read finds a page of items, see library.Library.
func (l *Library) Read(ctx context.Context, r library.Read) (*library.Page, error) {
	r.Now = l.instant(r)
	l.relieve()
	return l.read(ctx, r)
}

// instant is the time of a request in milliseconds, the precision that queries see.
func (l *Library) instant(r library.Read) time.Time {
	if r.Now.IsZero() {
		r.Now = l.Now()
	}
	return r.Now.Truncate(time.Millisecond)
}

func (l *Library) read(ctx context.Context, r library.Read) (*library.Page, error) {
	m, let, err := l.moment(ctx, r.Property, r.Now)
	if err != nil {
		return nil, err
	}
	defer let()
	of, err := m.listing(ctx, r)
	if err != nil {
		return nil, err
	}
	page := &library.Page{Version: r.IfVersion, Expires: of.until}
	if r.IfVersion != "" && r.IfVersion == of.versionAt(m.version) {
		return page, library.ErrNotModified // nothing at all has changed
	}
	if err := of.bind(ctx); err != nil {
		return nil, err
	}
	if page.Version, err = of.version(ctx); err != nil {
		return nil, err
	}
	if r.IfVersion == page.Version {
		return page, library.ErrNotModified
	}
	var after *eval.Place
	if r.After != "" {
		after = &eval.Place{}
		if err := l.OpenCursor(r.After, of.Identity, after); err != nil {
			return nil, err
		}
	}
	hits, next, total, err := of.page(ctx, r, after)
	if err != nil {
		return nil, err
	}
	page.Total = total
	if next != nil {
		if page.Next, err = l.SealCursor(of.Identity, next); err != nil {
			return nil, err
		}
	}
	page.Count = len(hits)
	page.Items, err = m.appendItems(ctx, r.Into, hits, r.Audience, r.BaseURL, l.again(r.Property))
	return page, err
}

// ReadItem returns one item, see library.Library.
func (l *Library) ReadItem(ctx context.Context, r library.ItemRead) ([]byte, error) {
	m, let, err := l.moment(ctx, r.Property, l.Now())
	if err != nil {
		return nil, err
	}
	defer let()
	h, ok := m.find(r.ID)
	if !ok {
		return nil, library.UnknownItem(r.ID)
	}
	return m.appendItems(ctx, nil, []search.Hit{h}, r.Audience, r.BaseURL, l.again(r.Property))
}

// again makes the bytes of items anew whose own are damaged. The scrub of the index finds the damage, too, and mends it.
func (l *Library) again(p library.PropertyID) func(item.ID) (item.Encoded, error) {
	return func(id item.ID) (item.Encoded, error) {
		l.options.Logger.Error("the bytes of an item are damaged and are made anew from the store", slog.Int64("item", id))
		it, err := l.Item(p, id)
		if err != nil {
			return nil, err
		}
		return item.Encode(it), nil
	}
}

// page finds the hits of a page, the place after which the next page begins (nil on the last page), and the total number of
// hits. after is what a cursor holds; nil for a page that begins at r.Offset.
func (l *listing) page(ctx context.Context, r library.Read, after *eval.Place) ([]search.Hit, *eval.Place, int64, error) {
	totals, err := l.totals(ctx)
	if err != nil {
		return nil, nil, 0, err
	}
	var total int64
	for _, n := range totals {
		total += n
	}
	if r.Limit == 0 {
		return nil, nil, total, nil
	}
	first, skip := 0, r.Offset
	if after != nil {
		if l.Order.Scored() {
			if after, err = l.present(ctx, after); err != nil {
				return nil, nil, 0, err
			}
		}
		if after.Rest && len(l.queries) > 1 {
			first = 1
		}
	}
	// One hit more than wanted shows whether there is a next page.
	most := int(min(int64(r.Limit), total)) + 1
	hits := make([]search.Hit, 0, most)
	favourites := 0
	for i := first; i < len(l.queries) && len(hits) < most; i++ {
		if after == nil && skip >= totals[i] {
			skip -= totals[i]
			continue
		}
		if hits, err = l.take(ctx, hits, i, after, skip, most-len(hits)); err != nil {
			return nil, nil, 0, err
		}
		if i == 0 {
			favourites = len(hits)
		}
		after, skip = nil, 0
	}
	if len(hits) <= r.Limit {
		return hits, nil, total, nil
	}
	hits = hits[:r.Limit]
	next := l.order.Place(hits[r.Limit-1])
	next.Rest = len(l.queries) > 1 && r.Limit > favourites
	return hits, &next, total, nil
}

// present returns the current place of the item of a place; the place itself when the item is no longer listed.
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
	h, there := l.moment.find(at.ID)
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
