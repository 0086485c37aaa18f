package reference

import (
	"context"
	"slices"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// Library is a content library in one directory. Open makes one.
type Library struct {
	*store.Store
	options Options
	memory  *memory
	results *results
}

var _ library.Library = (*Library)(nil)

// Open opens the store in o.Dir, making it where there is none, and reads it into memory. Errors are those of store.Open.
// The Library must be closed.
func Open(o Options) (*Library, error) {
	o = o.withDefaults()
	l := &Library{options: o, results: newResults(o.CachedResults)}
	l.memory = &memory{log: o.Logger, loaded: l.results.clear}
	var err error
	if l.Store, err = store.Open(o.store(), l.memory); err != nil {
		return nil, err
	}
	return l, nil
}

// ItemTags lists the tags of one item, see library.Library.
func (l *Library) ItemTags(_ context.Context, p library.PropertyID, id item.ID) ([]item.Tag, error) {
	var tags []item.Tag
	err := l.view(p, l.Now(), func(p *property) error {
		rec := p.records[id]
		if rec == nil {
			return library.UnknownItem(id)
		}
		tags = slices.Clone(rec.tags)
		return nil
	})
	return tags, err
}
