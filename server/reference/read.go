package reference

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"time"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
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
	page.Total = int64(len(found.places))
	shown, next, err := l.cut(listing, found, r)
	if err != nil {
		return nil, err
	}
	page.Count, page.Next, page.Items = len(shown), next, r.Into
	for i, at := range shown {
		if i > 0 {
			page.Items = append(page.Items, ',')
		}
		page.Items = p.appendItem(page.Items, p.records[at.ID], r.Audience, r.BaseURL)
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
func (l *Library) cut(listing library.Listing, found *result, r library.Read) ([]eval.Place, library.Cursor, error) {
	start := int(min(r.Offset, int64(len(found.places))))
	if r.After != "" {
		var after eval.Place
		if err := l.OpenCursor(r.After, listing.Identity, &after); err != nil {
			return nil, "", err
		}
		start = found.follows(after, listing.Order)
	}
	end := start + min(r.Limit, len(found.places)-start)
	shown := found.places[start:end]
	if len(shown) == 0 || end == len(found.places) {
		return shown, "", nil
	}
	next, err := l.SealCursor(listing.Identity, shown[len(shown)-1])
	return shown, next, err
}

// result is a listing in order. It is never changed.
type result struct {
	places []eval.Place
	// until is when the clock alone may change it; zero for never.
	until time.Time
}

// follows returns the index of the first item after the place in a cursor. By relevance, a write may change the score of any item,
// so the current place of the cursor's item counts, if the item is still listed.
func (res *result) follows(after eval.Place, o query.Order) int {
	if o.Scored() {
		for i, at := range res.places {
			if at.ID == after.ID {
				return i + 1
			}
		}
	}
	return sort.Search(len(res.places), func(i int) bool { return res.places[i].Compare(after, o) > 0 })
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
	l.results.put(name, interval{from: r.Now, to: found.until}, found)
	return found, nil
}
