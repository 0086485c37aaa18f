package engine

import (
	"context"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/engine/read"
	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// Library is a content library in one directory. Open makes one.
type Library struct {
	library.Base // answered by the store
	store        *store.Store
	options      Options
	follower     *follower
	// closing ends tend; tended is closed when it has ended.
	closing, tended chan struct{}
	closed          sync.Once
}

var _ library.Library = (*Library)(nil)

// Open opens the store in o.Dir, making it where there is none, and its segments, and rebuilds those that are missing or
// damaged. Errors are those of store.Open, and one for a directory that holds indexes and no store. The Library must be closed.
func Open(o Options) (*Library, error) {
	o = o.withDefaults()
	l := &Library{options: o, closing: make(chan struct{}), tended: make(chan struct{})}
	l.follower = &follower{options: o, cache: search.NewCache(o.CacheBytes)}
	if err := l.follower.requireStore(); err != nil {
		return nil, err
	}
	var err error
	if l.store, err = store.Open(o.store(), l.follower); err != nil {
		return nil, err
	}
	l.Base = l.store
	go l.tend()
	return l, nil
}

// Close ends the library, see library.Library.
func (l *Library) Close() error {
	l.closed.Do(func() { close(l.closing) })
	<-l.tended
	return l.store.Close()
}

// Write changes items, see library.Library.
func (l *Library) Write(ctx context.Context, p library.PropertyID, muts []library.Mutation) ([]library.Outcome, error) {
	if err := l.follower.failure(p); err != nil {
		return nil, err
	}
	// Writers that are faster than segments can be sealed wait here, where no other caller waits for them.
	if known := l.follower.property(p); known != nil {
		if x := known.segments(); x != nil {
			if err := x.Wait(ctx); err != nil {
				return nil, err
			}
		}
	}
	return l.store.Write(ctx, p, muts)
}

// snapshot returns a property as it is at a time, and what releases it.
func (l *Library) snapshot(ctx context.Context, id library.PropertyID, now time.Time) (s *read.Snapshot, release func(), err error) {
	p, err := l.follower.served(id)
	if err != nil {
		return nil, nil, err
	}
	return p.snapshot(ctx, now)
}

// Read finds a page of items, see library.Library.
func (l *Library) Read(ctx context.Context, r library.Read) (*library.Page, error) {
	r.Now = l.instant(r)
	l.relieve()
	return l.page(ctx, r)
}

// instant is the time of a request in milliseconds, the precision that queries see.
func (l *Library) instant(r library.Read) time.Time {
	if r.Now.IsZero() {
		r.Now = l.store.Now()
	}
	return r.Now.Truncate(time.Millisecond)
}

func (l *Library) page(ctx context.Context, r library.Read) (*library.Page, error) {
	s, release, err := l.snapshot(ctx, r.Property, r.Now)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.Page(ctx, r)
}

// ReadItem returns one item, see library.Library.
func (l *Library) ReadItem(ctx context.Context, r library.ItemRead) ([]byte, error) {
	s, release, err := l.snapshot(ctx, r.Property, l.store.Now())
	if err != nil {
		return nil, err
	}
	defer release()
	return s.Item(ctx, r)
}

// ItemTags lists the tags of one item, see library.Library.
func (l *Library) ItemTags(ctx context.Context, id library.PropertyID, of item.ID) ([]item.Tag, error) {
	s, release, err := l.snapshot(ctx, id, l.store.Now())
	if err != nil {
		return nil, err
	}
	defer release()
	return s.Tags(ctx, of)
}

// Explain says why an item is in an answer or is not, see library.Library.
func (l *Library) Explain(ctx context.Context, r library.Read, id item.ID) (*library.Explanation, error) {
	r.Now = l.instant(r)
	s, release, err := l.snapshot(ctx, r.Property, r.Now)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.Explain(ctx, r, id)
}
