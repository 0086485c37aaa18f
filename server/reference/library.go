package reference

import (
	"context"
	"log/slog"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// Options contains the settings of Open.
type Options struct {
	// Dir is the directory of the store. Open creates it with mode 0700 if it does not exist. Required.
	Dir string
	// Clock returns the current time. The library uses it as `now` in a Read without a time, and as the creation time of units. It need not be
	// monotonic. nil means time.Now.
	Clock func() time.Time
	// Logger receives the store's messages, and messages about rules that can no longer be evaluated. The library never logs items, tokens
	// or other personal data. nil disables logging.
	Logger *slog.Logger
}

// Library is a content library in one directory. Open returns one.
type Library struct {
	*store.Store
	views *views
}

var _ library.Library = (*Library)(nil)

// Open opens the store in o.Dir, and creates it if there is none. It returns the errors of store.Open. The caller must call Close.
func Open(o Options) (*Library, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Library{views: &views{log: o.Logger}}
	var err error
	l.Store, err = store.Open(store.Options{Dir: o.Dir, Clock: o.Clock, Logger: o.Logger}, l.views)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// VerifyCopy opens the copy that Checkpoint made in dir and decodes all its items. If something cannot be read, the error names it.
func (l *Library) VerifyCopy(ctx context.Context, dir string) error {
	return l.Store.VerifyCopy(ctx, dir, func(library.PropertyID, []*item.Item) error { return nil })
}

// views implements store.Index. It contains the views that are still valid because their property has not changed. The store calls its
// methods one at a time. Readers use it only within store.Hold.
type views struct {
	log   *slog.Logger
	store *store.Store
	known map[library.PropertyID]*view
}

var _ store.Index = (*views)(nil)

// Load drops all views.
func (v *views) Load(s *store.Store) error {
	v.store, v.known = s, map[library.PropertyID]*view{}
	return nil
}

// Prepare computes nothing. The returned install drops the views of the properties that change.
func (v *views) Prepare(c *store.Change, _ *store.IndexBatch) (install func(), err error) {
	return func() {
		for _, p := range c.Properties {
			delete(v.known, p.Property)
		}
		for _, p := range c.Purged {
			delete(v.known, p)
		}
	}, nil
}

// TagOwner implements store.Index. It evaluates the rules at the current time.
func (v *views) TagOwner(p library.PropertyID, t item.Tag, id item.ID) (library.Owner, bool, error) {
	now, err := v.at(p, v.store.Now())
	if err != nil {
		return library.Owner{}, false, err
	}
	for _, r := range now.catalogue.TagRules {
		if r.Tag == t && now.members[r][id] {
			return r.Owner, true, nil
		}
	}
	return library.Owner{}, false, nil
}

// Erase does nothing, because the views are not in files.
func (v *views) Erase(context.Context) error { return nil }

// Close does nothing.
func (v *views) Close() {}

// at returns the view of a property at the instant now. It fails with ErrNotFound or ErrClosed.
func (v *views) at(id library.PropertyID, now time.Time) (*view, error) {
	if _, err := v.store.Property(id); err != nil {
		return nil, err
	}
	if known := v.known[id]; known != nil && (!known.volatile || known.now.Equal(now)) {
		at := *known
		at.now = now
		return &at, nil
	}
	fresh, err := newView(v.store, id, now, v.log)
	if err != nil {
		return nil, err
	}
	v.known[id] = fresh
	return fresh, nil
}
