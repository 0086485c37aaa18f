package engine

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/store"
)

// pins are the listings by relevance whose cursors are out. Scores change with every item that comes or goes, so that no
// value in a cursor could say where it was; so the listing itself is kept, for a minute. A small one is kept as the ids of
// its items; of a large one the moment is held, and it is put in order when its second page is asked for.
type pins struct {
	mu     sync.Mutex
	byName map[string]*pin
	items  int
}

// pin is one listing that is kept.
type pin struct {
	until time.Time
	// ids is the listing in order; nil while it is held instead.
	ids []item.ID
	// held is the listing of a moment, whose snapshot let lets go.
	held *listing
	let  func()
	// sorting is closed when somebody who puts it in order has done so, or could not; nil while nobody does.
	sorting chan struct{}
	// gone is set when it is kept no more.
	gone bool
}

// page takes a page out of a listing by relevance: its hits, and where the next one begins, nil on the last one. Without
// after it begins at offset; with the place that the page before gave, it goes on with the listing as it was then, without
// what has left it meanwhile. hold takes a further reference to the moment. The error may be a *library.CursorError, when
// the listing has changed and the minute is over.
func (p *pins) page(
	ctx context.Context, now time.Time, l *listing, after *store.PinPlace, offset int64, limit int, hold func() func(),
) ([]search.Hit, *store.PinPlace, error) {
	p.expire(now)
	// The version of the listing is a part of its name, so that a page of one version has one cursor, whenever it is read.
	name := l.Identity + " " + l.versionAt(l.moment.version) + " " + strconv.Itoa(int(l.audience))
	if after != nil {
		p.mu.Lock()
		kept := p.byName[after.Pin]
		p.mu.Unlock()
		if kept == nil && after.Pin == name {
			kept = p.keep(name, l, nil, now, hold) // it is as it was
		}
		return p.goOn(ctx, l, kept, after, limit)
	}
	hits, total, err := l.rank(ctx, int(min(offset+int64(limit), 1<<40)))
	if err != nil {
		return nil, nil, err
	}
	start := int(min(offset, int64(len(hits))))
	end := min(start+limit, len(hits))
	if start == end || int64(end) >= total {
		return hits[start:end], nil, nil
	}
	var ids []item.ID
	if int64(len(hits)) == total {
		ids = l.moment.ids(hits)
	}
	p.keep(name, l, ids, now, hold)
	return hits[start:end], &store.PinPlace{Pin: name, Index: end}, nil
}

// goOn is page with a cursor of a listing that is kept; nil where it is not.
func (p *pins) goOn(ctx context.Context, l *listing, kept *pin, after *store.PinPlace, limit int) ([]search.Hit, *store.PinPlace, error) {
	if kept == nil {
		return nil, nil, store.PinOver()
	}
	ids, err := p.sort(ctx, kept)
	if err != nil {
		return nil, nil, err
	}
	if ids == nil {
		return nil, nil, store.PinOver() // it went just now
	}
	var hits []search.Hit
	at := after.Index
	for ; at < len(ids) && len(hits) < limit; at++ {
		h, still, err := l.holds(ctx, ids[at])
		if err != nil {
			return nil, nil, err
		}
		if still {
			hits = append(hits, h)
		}
	}
	for ; at < len(ids); at++ {
		_, still, err := l.holds(ctx, ids[at])
		if err != nil {
			return nil, nil, err
		}
		if still {
			break
		}
	}
	if len(hits) == 0 || at == len(ids) {
		return hits, nil, nil
	}
	return hits, &store.PinPlace{Pin: after.Pin, Index: at}, nil
}

// sort returns a listing that is kept in order; nil when it is kept no more.
func (p *pins) sort(ctx context.Context, kept *pin) ([]item.ID, error) {
	p.mu.Lock()
	for kept.sorting != nil {
		sorting := kept.sorting
		p.mu.Unlock()
		select {
		case <-sorting:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		p.mu.Lock()
	}
	if kept.held == nil {
		defer p.mu.Unlock()
		return kept.ids, nil
	}
	held, let, done := kept.held, kept.let, make(chan struct{})
	kept.held, kept.let, kept.sorting = nil, nil, done
	p.mu.Unlock()

	hits, err := held.rankAll(ctx)
	var ids []item.ID
	if err == nil {
		ids = held.moment.ids(hits)
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	kept.sorting = nil
	close(done)
	switch {
	case kept.gone:
		let()
	case err != nil:
		kept.held, kept.let = held, let // for somebody with more time
	default:
		let()
		kept.ids = ids
		p.items += len(ids)
	}
	return ids, err
}

// keep keeps a listing for a minute from now on: its items in order, or with nil what it takes to find them. Where there is
// too much the one that ends first goes.
func (p *pins) keep(name string, l *listing, ids []item.ID, now time.Time, hold func() func()) *pin {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.byName[name]; known != nil {
		known.until = now.Add(store.PinTime)
		return known
	}
	for len(p.byName) > 0 && (len(p.byName) >= store.MaxPins || p.items > store.MaxPinnedItems) {
		p.removeFirst()
	}
	fresh := &pin{until: now.Add(store.PinTime), ids: ids}
	if p.items += len(ids); ids == nil {
		fresh.held, fresh.let = l, hold()
	}
	if p.byName == nil {
		p.byName = map[string]*pin{}
	}
	p.byName[name] = fresh
	return fresh
}

func (p *pins) removeFirst() {
	first := ""
	for name, kept := range p.byName {
		if first == "" || kept.until.Before(p.byName[first].until) {
			first = name
		}
	}
	p.remove(first)
}

func (p *pins) remove(name string) {
	kept := p.byName[name]
	delete(p.byName, name)
	p.items -= len(kept.ids)
	if kept.let != nil {
		kept.let()
	}
	kept.held, kept.let, kept.ids, kept.gone = nil, nil, nil, true
}

// expire lets go of what was kept for its minute.
func (p *pins) expire(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, kept := range p.byName {
		if !now.Before(kept.until) {
			p.remove(name)
		}
	}
}

// clear lets go of everything: cursors of listings that have changed since have to start again.
func (p *pins) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range p.byName {
		p.remove(name)
	}
}

// bytes is the memory that the listings in order take.
func (p *pins) bytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(p.items) * 8
}
