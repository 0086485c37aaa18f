package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
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
	if r.Now.IsZero() {
		r.Now = l.Now()
	}
	r.Now = r.Now.Truncate(time.Millisecond) // what a query sees of the time
	l.relieve()
	if r.Budgeted {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, l.options.QueryBudget, library.ErrTooExpensive)
		defer cancel()
	}
	page, err := l.read(ctx, r)
	if errors.Is(err, library.ErrTooExpensive) {
		return nil, fmt.Errorf("%w: it took longer than %s", library.ErrTooExpensive, l.options.QueryBudget)
	}
	return page, err
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
	var after cursor
	if r.After != "" {
		if err := l.OpenCursor(r.After, of.Identity, &after); err != nil {
			return nil, err
		}
	}
	var hits []search.Hit
	var next *cursor
	if of.Order.Scored() {
		hits, next, page.Total, err = l.ranked(ctx, m, of, r, after.Pin)
	} else {
		hits, next, page.Total, err = of.page(ctx, r, after.After)
	}
	if err != nil {
		return nil, err
	}
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

// cursor is a place in a listing: right after an item, given by what it is sorted by, or, by relevance, in a listing that
// is kept for a minute.
type cursor struct {
	// After is nil by relevance, Pin otherwise.
	After *place          `json:"a,omitempty"`
	Pin   *store.PinPlace `json:"r,omitempty"`
}

// page finds the hits of a page that is not by relevance, where the next one begins (nil on the last) and how many there
// are in all.
func (l *listing) page(ctx context.Context, r library.Read, after *place) ([]search.Hit, *cursor, int64, error) {
	streams := make([]*stream, len(l.queries))
	for i := range streams {
		var err error
		if streams[i], err = l.stream(ctx, i); err != nil {
			return nil, nil, 0, err
		}
	}
	n := total(streams)
	if r.Limit == 0 {
		return nil, nil, n, nil
	}
	first, offset := 0, r.Offset
	var from *position // nil for the beginning of a stream, offset documents on
	if after != nil {
		if after.Rest && len(streams) > 1 {
			first = 1
		}
		if len(after.Place.Values) != len(l.Order) {
			return nil, nil, 0, &library.CursorError{Reason: "the order of the listing has changed: start again from the first page"}
		}
		at := streams[first].after(after.Place)
		offset, from = 0, &at
	}
	hits := make([]search.Hit, 0, min(int64(r.Limit), n))
	last := first // the stream of the last hit
	more := false
	for i := first; i < len(streams); i++ {
		s := streams[i]
		if from == nil {
			if offset >= int64(s.total) {
				offset -= int64(s.total)
				continue
			}
			at := s.split(int(offset))
			offset, from = 0, &at
		}
		left := s.left(*from)
		if len(hits) == r.Limit {
			more = more || left > 0
			break
		}
		before := len(hits)
		if hits = s.take(hits, *from, r.Limit-len(hits)); len(hits) > before {
			last = i
		}
		more = left > len(hits)-before
		from = nil
		if more {
			break
		}
	}
	if !more || len(hits) == 0 {
		return hits, nil, n, nil
	}
	at := place{Rest: len(streams) > 1 && last == 1, Place: l.order.Place(hits[len(hits)-1])}
	return hits, &cursor{After: &at}, n, nil
}

// ranked is page by relevance.
func (l *Library) ranked(
	ctx context.Context, m *moment, of *listing, r library.Read, after *store.PinPlace,
) ([]search.Hit, *cursor, int64, error) {
	hold := func() func() {
		m.snapshot.Hold()
		return m.snapshot.Release
	}
	hits, next, err := l.pins.page(ctx, l.Now(), of, after, r.Offset, r.Limit, hold)
	if err != nil {
		return nil, nil, 0, err
	}
	_, n, err := of.rank(ctx, 0)
	if err != nil || next == nil {
		return hits, nil, n, err
	}
	return hits, &cursor{Pin: next}, n, nil
}
