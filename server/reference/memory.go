package reference

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// memory is the index of the reference: all items, as records. What readers see is a function of what the store holds,
// and of the time at which volatile rules were last evaluated.
type memory struct {
	log *slog.Logger
	now func() time.Time
	// loaded is called when everything was read anew.
	loaded func()

	// mu is held by whoever changes what follows and, for reading, by those who look.
	mu sync.RWMutex
	// properties are all that have anything stored, served or not.
	properties map[library.PropertyID]*property
	closed     bool
}

var _ store.Index = (*memory)(nil)

// Load reads all items.
func (m *memory) Load(s *store.Store) error {
	m.now = s.Now
	properties := map[library.PropertyID]*property{}
	for _, id := range s.Stored() {
		p := newProperty(id)
		p.version = s.PropertyVersion(id)
		r := newRefresh(p, s.Catalogue(id), m.now())
		for it, err := range s.Items(context.Background(), id) {
			if err != nil {
				return err
			}
			r.put(it.ID, it)
		}
		if err := r.run(); err != nil {
			return fmt.Errorf("property %s: %w", id, err)
		}
		r.install()
		properties[id] = p
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.properties = properties
	m.loaded()
	return nil
}

// Prepare works out what a change makes of the records.
func (m *memory) Prepare(c *store.Change, _ *store.IndexBatch) (install func(), err error) {
	refreshes := make([]*refresh, len(c.Properties))
	for i, pc := range c.Properties {
		if refreshes[i], err = m.refresh(pc, c.Version); err != nil {
			return nil, fmt.Errorf("property %s: %w", pc.Property, err)
		}
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, id := range c.Purged {
			delete(m.properties, id)
		}
		for _, r := range refreshes {
			r.install()
			m.properties[r.p.id] = r.p
		}
	}, nil
}

// refresh works out what the items of one property look like.
func (m *memory) refresh(pc store.PropertyChange, version uint64) (*refresh, error) {
	p := m.properties[pc.Property]
	if p == nil {
		p = newProperty(pc.Property)
	}
	r := newRefresh(p, pc.After, m.now())
	r.version = version
	for _, it := range pc.Items {
		r.put(it.ID, it.Item)
	}
	err := r.run()
	for _, problem := range r.problems {
		m.log.Warn("a selector matches nothing", slog.Any("error", problem))
	}
	return r, err
}

// TagOwner returns the manifest by which an item carries a tag.
func (m *memory) TagOwner(p library.PropertyID, t item.Tag, id item.ID) (library.Owner, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	known := m.properties[p]
	if known == nil || known.catalogue == nil {
		return library.Owner{}, false
	}
	for _, r := range known.catalogue.TagRules {
		if r.Tag == t && known.members[r][id] {
			return r.Owner, true
		}
	}
	return library.Owner{}, false
}

// Erase has nothing to do: there are no files.
func (m *memory) Erase(context.Context) error { return nil }

// Close ends all reading.
func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// served returns a property that is served. The caller holds a lock.
func (m *memory) served(id library.PropertyID) (*property, error) {
	if m.closed {
		return nil, library.ErrClosed
	}
	p := m.properties[id]
	if p == nil || p.catalogue == nil {
		return nil, library.UnknownProperty(id)
	}
	return p, nil
}
