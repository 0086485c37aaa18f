package engine

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/engine/read"
	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/store"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// Library is a content library in one directory. Open returns a Library.
type Library struct {
	library.Base // the operations that the store implements
	store        *store.Store
	options      Options
	follower     *follower
	// When closing is closed, watchMemory closes watchEnded and returns.
	closing, watchEnded chan struct{}
	closed              sync.Once
}

var _ library.Library = (*Library)(nil)

// Open opens the store in o.Dir and its segments, and rebuilds missing or damaged segments. If there is no store, Open creates one. It
// returns the errors of store.Open, and an error if the directory holds indexes but no store. The caller must call Close.
func Open(o Options) (*Library, error) {
	o = o.withDefaults()
	l := &Library{options: o, closing: make(chan struct{}), watchEnded: make(chan struct{})}
	cache := search.NewCache(o.CacheBytes)
	cache.ShelfFrom = cmp.Or(o.shelfFrom, cache.ShelfFrom)
	l.follower = &follower{options: o, cache: cache, room: segment.NewRoom(o.room(), o.Crowded)}
	if err := l.follower.requireStore(); err != nil {
		return nil, err
	}
	var err error
	if l.store, err = store.Open(o.store(), l.follower); err != nil {
		return nil, err
	}
	l.Base = l.store
	go l.watchMemory()
	return l, nil
}

// Close closes the library. See library.Library.
func (l *Library) Close() error {
	l.closed.Do(func() { close(l.closing) })
	<-l.watchEnded
	return l.store.Close()
}

// Write changes items. See library.Library.
func (l *Library) Write(ctx context.Context, p library.PropertyID, muts []library.Mutation) ([]library.Outcome, error) {
	if err := l.follower.failure(p); err != nil {
		return nil, err
	}
	// If writes are faster than sealing, the caller waits here and not in the store, where it would block other callers.
	if known := l.follower.property(p); known != nil {
		if x := known.segments(); x != nil {
			if err := x.Wait(ctx); err != nil {
				return nil, err
			}
		}
	}
	return l.store.Write(ctx, p, muts)
}

// Source returns the library as the source for a transfer.
func (l *Library) Source() transfer.Source { return l.store }

// withSnapshot calls read with the snapshot of a property at the time `now`. In addition to the errors of read, it returns ErrClosed,
// ErrNotFound and ErrUnavailable.
func withSnapshot[T any](ctx context.Context, l *Library, id library.PropertyID, now time.Time, read func(s *read.Snapshot) (T, error)) (T, error) {
	var none T
	p, err := l.follower.served(id)
	if err != nil {
		return none, err
	}
	s, release, err := p.snapshot(ctx, now)
	if err != nil {
		return none, err
	}
	defer release()
	return read(s)
}

// Read returns a page of items. See library.Library.
func (l *Library) Read(ctx context.Context, r library.Read) (*library.Page, error) {
	r.Now = l.instant(r)
	l.relieve()
	return withSnapshot(ctx, l, r.Property, r.Now, func(s *read.Snapshot) (*library.Page, error) { return s.Page(ctx, r) })
}

// Forget drops cached results of queries: views, orders, ranked listings and bound queries. It also drops bound rules that depend on other
// items or on the time. The next reads compute these results again. Forget keeps other bound rules. It also keeps the data that stays with
// each segment until the segment is merged: large views in files, statistics, length norms, sketches of terms and lists of units. Benchmarks call Forget to
// measure first reads.
func (l *Library) Forget() {
	l.follower.cache.Shrink(0)
	for _, p := range l.follower.all() {
		p.reads.Forget()
	}
}

// instant returns the time of a request, truncated to milliseconds. Times in queries have this precision.
func (l *Library) instant(r library.Read) time.Time {
	if r.Now.IsZero() {
		r.Now = l.store.Now()
	}
	return r.Now.Truncate(time.Millisecond)
}

// ReadItem returns one item. See library.Library.
func (l *Library) ReadItem(ctx context.Context, r library.ItemRead) ([]byte, error) {
	now := l.store.Now()
	return withSnapshot(ctx, l, r.Property, now, func(s *read.Snapshot) ([]byte, error) { return s.Item(ctx, r, now) })
}

// ItemTags lists the tags of one item. See library.Library.
func (l *Library) ItemTags(ctx context.Context, id library.PropertyID, of item.ID) ([]item.Tag, error) {
	return withSnapshot(ctx, l, id, l.store.Now(), func(s *read.Snapshot) ([]item.Tag, error) { return s.Tags(ctx, of) })
}

// Explain explains why a listing contains an item, or why not. See library.Library.
func (l *Library) Explain(ctx context.Context, r library.Read, id item.ID) (*library.Explanation, error) {
	r.Now = l.instant(r)
	return withSnapshot(ctx, l, r.Property, r.Now, func(s *read.Snapshot) (*library.Explanation, error) { return s.Explain(ctx, r, id) })
}

// Facets counts the values of a field among the items that match r. See library.Library.
func (l *Library) Facets(ctx context.Context, r library.Read, f library.Facet) (*library.Facets, error) {
	r.Now = l.instant(r)
	l.relieve()
	return withSnapshot(ctx, l, r.Property, r.Now, func(s *read.Snapshot) (*library.Facets, error) { return s.Facets(ctx, r, f) })
}

// matching lists the IDs of the items that match a query now, in ascending order.
func (l *Library) matching(ctx context.Context, p library.PropertyID, q query.Node) ([]item.ID, error) {
	r := library.Read{Property: p, Audience: query.Private, Query: q, Now: l.store.Now()}
	return withSnapshot(ctx, l, p, r.Now, func(s *read.Snapshot) ([]item.ID, error) { return s.Matching(ctx, r) })
}
