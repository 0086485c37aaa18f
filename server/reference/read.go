package reference

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"time"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/store"
)

// Read finds a page of items, see library.Library.
func (l *Library) Read(ctx context.Context, r library.Read) (*library.Page, error) {
	if r.Now.IsZero() {
		r.Now = l.Now()
	}
	var page *library.Page
	err := l.view(r.Property, r.Now, func(p *property) (err error) {
		page, err = l.page(ctx, p, r)
		return err
	})
	return page, err
}

// ReadItem returns one item, see library.Library.
func (l *Library) ReadItem(_ context.Context, r library.ItemRead) ([]byte, error) {
	var shown []byte
	err := l.view(r.Property, l.Now(), func(p *property) error {
		rec := p.records[r.ID]
		if rec == nil {
			return library.UnknownItem(r.ID)
		}
		shown = p.appendItem(nil, rec, r.Audience, r.BaseURL)
		return nil
	})
	return shown, err
}

// view calls look with a property that is served, its rules settled at that time. Nothing changes while look runs.
func (l *Library) view(id library.PropertyID, now time.Time, look func(*property) error) error {
	m := l.memory
	m.mu.RLock()
	p, err := m.served(id)
	if err != nil || p.isSettled(now) {
		defer m.mu.RUnlock()
		if err != nil {
			return err
		}
		return look(p)
	}
	m.mu.RUnlock()
	// Rules that depend on the time are brought up to it, and looked at before anyone brings them to another time. The
	// writer is kept out as well: what it prepares must not be overtaken.
	return l.Hold(func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		p, err := m.served(id)
		if err != nil {
			return err
		}
		if !p.isSettled(now) {
			if err := p.settle(now); err != nil {
				return err
			}
		}
		return look(p)
	})
}

// page makes the answer to a Read.
func (l *Library) page(ctx context.Context, p *property, r library.Read) (*library.Page, error) {
	listing, err := p.catalogue.Listing(r)
	if err != nil {
		return nil, err
	}
	found, err := l.find(ctx, p, listing, r)
	if err != nil {
		return nil, err
	}
	page := &library.Page{Version: l.versionOf(p, found), Expires: found.until}
	if r.IfVersion != "" && r.IfVersion == page.Version {
		return page, library.ErrNotModified
	}
	page.Total = int64(len(found.ids))
	ids, next, err := l.cut(p, listing, found, r)
	if err != nil {
		return nil, err
	}
	page.Count, page.Next, page.Items = len(ids), next, r.Into
	for i, id := range ids {
		if i > 0 {
			page.Items = append(page.Items, ',')
		}
		page.Items = p.appendItem(page.Items, p.records[id], r.Audience, r.BaseURL)
	}
	return page, nil
}

// versionOf names what a listing looks like: the store, the batch that last changed the property, and until when the
// clock alone changes nothing, which tells the stretches of time between two batches apart.
func (l *Library) versionOf(p *property, found *result) string {
	version := l.ID() + "-" + strconv.FormatUint(p.version, 36)
	if !found.until.IsZero() {
		version += "-" + strconv.FormatInt(found.until.UnixMilli(), 36)
	}
	return version
}

// appendItem appends one item as the reader may see it.
func (p *property) appendItem(dst []byte, rec *record, a query.Audience, baseURL string) []byte {
	return rec.encoded.Append(dst, a, p.catalogue.Slots(rec.units, baseURL))
}

// cut takes the page that r asks for out of a listing, with the cursor of the one after it.
func (l *Library) cut(p *property, listing library.Listing, found *result, r library.Read) ([]item.ID, library.Cursor, error) {
	var c cursor
	if r.After != "" {
		if err := l.OpenCursor(r.After, listing.Identity, &c); err != nil {
			return nil, "", err
		}
	}
	if listing.Order.Scored() {
		return l.cutPinned(listing, found, r, c)
	}
	ranker, err := newRanker(listing)
	if err != nil {
		return nil, "", err
	}
	start := int(min(r.Offset, int64(len(found.ids))))
	if c.After != nil {
		start = sort.Search(len(found.ids), func(i int) bool {
			return ranker.compare(found.position(p, ranker, i), *c.After) > 0
		})
	}
	end := min(start+r.Limit, len(found.ids))
	ids := found.ids[start:end]
	if len(ids) == 0 || end == len(found.ids) {
		return ids, "", nil
	}
	after := found.position(p, ranker, end-1)
	next, err := l.SealCursor(listing.Identity, cursor{After: &after})
	return ids, next, err
}

// cutPinned is cut by relevance.
func (l *Library) cutPinned(listing library.Listing, found *result, r library.Read, c cursor) ([]item.ID, library.Cursor, error) {
	ids, next, err := l.pins.Page(l.Now(), found.name, found.ids, c.Pin, r.Offset, r.Limit)
	if err != nil || next == nil {
		return ids, "", err
	}
	sealed, err := l.SealCursor(listing.Identity, cursor{Pin: next})
	return ids, sealed, err
}

// cursor is a place in a listing: right after an item, given by what it is sorted by, or, by relevance, in a listing that
// is kept for a minute.
type cursor struct {
	// After is nil by relevance, Pin otherwise.
	After *position       `json:"a,omitempty"`
	Pin   *store.PinPlace `json:"r,omitempty"`
}

// result is a listing in order. It is never changed.
type result struct {
	// name tells it from every other one.
	name string
	ids  []item.ID
	// first is how many of ids are favourites.
	first int
	// until is when the clock alone may change it; zero for never.
	until time.Time
}

// position works out where the i-th item stands. Not for listings by relevance.
func (res *result) position(p *property, ranker *ranker, i int) position {
	return ranker.position(eval.Hit{Doc: p.records[res.ids[i]].doc}, i < res.first)
}

// find returns a listing in order, from the cache when nothing has changed.
func (l *Library) find(ctx context.Context, p *property, listing library.Listing, r library.Read) (*result, error) {
	name := fmt.Sprintf("%s %d %d %d %s", p.id, p.version, p.settlement, r.Audience, listing.Identity)
	if found := l.results.get(name, r.Now); found != nil {
		return found, nil
	}
	if r.Budgeted {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, l.options.QueryBudget, library.ErrTooExpensive)
		defer cancel()
	}
	s, err := p.search(listing, r.Now)
	if err != nil {
		return nil, err
	}
	found, err := s.run(ctx)
	if err != nil {
		if errors.Is(err, library.ErrTooExpensive) {
			return nil, fmt.Errorf("%w: it took longer than %s", library.ErrTooExpensive, l.options.QueryBudget)
		}
		return nil, err
	}
	found.name = name
	l.results.put(name, interval{from: r.Now, to: found.until}, found)
	return found, nil
}
