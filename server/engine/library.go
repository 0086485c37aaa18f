package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// Library is a content library in one directory. Open makes one.
type Library struct {
	*store.Store
	options  Options
	follower *follower
	// closing ends tend; tended is closed when it has ended.
	closing, tended chan struct{}
	closed          sync.Once
}

var _ library.Library = (*Library)(nil)

// Open opens the store in o.Dir, making it where there is none, and its segments, making those anew that are missing or
// damaged. Errors are those of store.Open. The Library must be closed.
func Open(o Options) (*Library, error) {
	o = o.withDefaults()
	l := &Library{options: o, closing: make(chan struct{}), tended: make(chan struct{})}
	l.follower = &follower{options: o, cache: search.NewCache(o.CacheBytes)}
	var err error
	if l.Store, err = store.Open(o.store(), l.follower); err != nil {
		return nil, err
	}
	go l.tend()
	return l, nil
}

// Close ends the library, see library.Library.
func (l *Library) Close() error {
	l.closed.Do(func() { close(l.closing) })
	<-l.tended
	return l.Store.Close()
}

// Write changes items, see library.Library.
func (l *Library) Write(ctx context.Context, p library.PropertyID, muts []library.Mutation) ([]library.Outcome, error) {
	if err := l.follower.refused(p); err != nil {
		return nil, err
	}
	// Writers who come faster than segments can be sealed wait here, where they keep nobody else waiting.
	if known := l.follower.property(p); known != nil {
		if x := known.segments(); x != nil {
			if err := x.Wait(ctx); err != nil {
				return nil, err
			}
		}
	}
	return l.Store.Write(ctx, p, muts)
}

// ItemTags lists the tags of one item, see library.Library.
func (l *Library) ItemTags(ctx context.Context, id library.PropertyID, of item.ID) ([]item.Tag, error) {
	m, let, err := l.moment(ctx, id, l.Now())
	if err != nil {
		return nil, err
	}
	defer let()
	_, tags, _, err := l.item(ctx, m, of)
	return tags, err
}

// item reads one item of a moment: with the tags that it carries, own ones and those of manifests, and where it is.
func (l *Library) item(ctx context.Context, m *moment, id item.ID) (*item.Item, []item.Tag, search.Hit, error) {
	h, ok := m.find(id)
	if !ok {
		return nil, nil, h, library.UnknownItem(id)
	}
	it, err := l.Item(m.property.id, id)
	if err != nil {
		return nil, nil, h, err
	}
	tags := slices.Clone(it.Tags)
	for i, r := range m.catalogue.TagRules {
		carries, err := m.corpus.Carries(ctx, i, m.parts[h.Part], h.Doc)
		if err != nil {
			return nil, nil, h, err
		}
		if carries {
			tags = append(tags, r.Tag)
		}
	}
	slices.SortFunc(tags, item.CompareTags)
	return it, slices.Compact(tags), h, nil
}
