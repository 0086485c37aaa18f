package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/engine/index"
	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// follower is the index of the engine: it has the segments of every property follow the store.
type follower struct {
	options Options
	views   *views

	store *store.Store
	// fresh are the properties of a batch that is prepared and not installed.
	fresh []*property

	mu sync.RWMutex
	// loading is what opens the indexes; nil once it has.
	loading    *loading
	properties map[library.PropertyID]*property
	closed     bool
}

var _ store.Index = (*follower)(nil)

// directory is where the indexes lie in the directory of a store.
const directory = "index"

// Load opens the indexes of all stored properties. When the store was opened anew, the indexes of before are given up
// first; what they showed can be read until then. An index that has to be made anew takes long: after a while Load returns
// and leaves it to the background. Until it is done nothing is read, or what was there before, and nothing is written.
func (f *follower) Load(s *store.Store) error {
	f.store = s
	f.stopLoading()
	for _, p := range f.all() {
		p.abandon()
	}
	for _, p := range f.fresh {
		p.end().Abandon() // their batch was not committed
	}
	f.fresh = nil
	l := newLoading()
	f.mu.Lock()
	f.loading = l
	f.mu.Unlock()
	go f.load(l)
	patience := time.NewTimer(f.options.patience)
	defer patience.Stop()
	select {
	case <-l.done:
		return l.err
	case <-patience.C:
	}
	if l.leave() {
		<-l.done
		return l.err
	}
	f.options.Logger.Warn("an index is made anew: nothing is served until it is there")
	return nil
}

// load opens all indexes and publishes them.
func (f *follower) load(l *loading) {
	defer close(l.done)
	for {
		if l.err = f.openAll(l); l.err == nil || l.ctx.Err() != nil || l.fail(l.err) {
			return
		}
		f.options.Logger.Error("an index cannot be made anew; it is tried again", slog.Any("error", l.err))
		timer := time.NewTimer(f.options.retryAfter)
		select {
		case <-l.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

func (f *follower) openAll(l *loading) error {
	properties := map[library.PropertyID]*property{}
	for _, id := range f.store.Stored() {
		p, err := f.open(l.ctx, id, l.replayed)
		if err != nil {
			for _, opened := range properties {
				opened.end().Abandon()
			}
			return err
		}
		p.catalogue, p.version = f.store.Catalogue(id), f.store.PropertyVersion(id)
		properties[id] = p
	}
	f.mu.Lock()
	before := f.properties
	f.properties, f.loading = properties, nil
	f.mu.Unlock()
	for _, p := range before {
		p.end()
	}
	return nil
}

// open opens the index of one property.
func (f *follower) open(ctx context.Context, id library.PropertyID, replayed func(done, of int)) (*property, error) {
	o := f.options
	p := &property{
		id: id, storeID: f.store.ID(), log: o.Logger.With(slog.String("property", string(id))), views: f.views, cache: search.NewCache(), versions: newVersions(),
		warned: map[*store.Rule]bool{}, rankedHits: o.rankedHits,
	}
	var err error
	p.index, err = index.Open(ctx, index.Options{
		Store: f.store, Property: id, Dir: f.dir(id), FS: o.fs, Logger: p.log,
		SealDocs: o.sealDocs, SealBytes: o.sealBytes(), MemoryParts: o.memoryParts, FanIn: o.fanIn, MaxDocs: o.maxDocs,
		OnMerge: p.merged, OnGone: p.gone, OnReplay: replayed,
	})
	return p, err
}

// dir is the directory of a property: its id may hold what a file name may not.
func (f *follower) dir(id library.PropertyID) string {
	disk := f.options.fs
	if disk == nil {
		disk = vfs.Default
	}
	return disk.PathJoin(f.options.Dir, directory, hex.EncodeToString([]byte(id)))
}

// Prepare has the indexes prepare what a batch changes.
func (f *follower) Prepare(c *store.Change, keys *store.IndexBatch) (install func(), err error) {
	type step struct {
		p        *property
		prepared *index.Prepared
		change   store.PropertyChange
	}
	if err := f.notLoaded(); err != nil && len(c.Properties)+len(c.Purged) > 0 {
		return nil, err
	}
	steps := make([]step, len(c.Properties))
	var fresh []*property
	for i, pc := range c.Properties {
		p := f.property(pc.Property)
		if p == nil {
			if p, err = f.open(context.Background(), pc.Property, nil); err != nil {
				break
			}
			fresh = append(fresh, p)
		}
		var prepared *index.Prepared
		if prepared, err = p.index.Prepare(c.Version, pc.Items, keys); err != nil {
			err = fmt.Errorf("property %s: %w", pc.Property, err)
			break
		}
		steps[i] = step{p, prepared, pc}
	}
	if err != nil {
		for _, p := range fresh {
			p.end().Abandon()
		}
		return nil, err
	}
	var purged []*property
	for _, id := range c.Purged {
		if p := f.property(id); p != nil {
			if err := p.index.DropKeys(keys); err != nil {
				return nil, err
			}
			purged = append(purged, p)
		}
	}
	f.fresh = fresh
	return func() {
		f.fresh = nil
		for _, s := range steps {
			s.p.publish(s.prepared, s.change.After, c.Version)
		}
		f.mu.Lock()
		for _, p := range fresh {
			f.properties[p.id] = p
		}
		for _, p := range purged {
			delete(f.properties, p.id)
		}
		f.mu.Unlock()
		for _, p := range purged {
			p.end().Drop()
		}
	}, nil
}

// property returns a property that has anything stored, nil for others.
func (f *follower) property(id library.PropertyID) *property {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.properties[id]
}

// served returns a property that may be read. ErrClosed, ErrNotFound.
func (f *follower) served(id library.PropertyID) (*property, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return nil, library.ErrClosed
	}
	p := f.properties[id]
	if p == nil && f.loading != nil {
		return nil, f.loading.unavailable()
	}
	if p == nil {
		return nil, library.UnknownProperty(id)
	}
	return p, nil
}

// notLoaded is why nothing can be written yet; nil once everything is open.
func (f *follower) notLoaded() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.loading == nil {
		return nil
	}
	return f.loading.unavailable()
}

// merged carries over what is kept of segments.
func (p *property) merged(inputs []segment.Input, merged *segment.Segment, maps [][]uint32) {
	olds := make([]*segment.Segment, len(inputs))
	for i, in := range inputs {
		olds[i] = in.Segment
	}
	p.views.carry(olds, merged, maps)
	p.versions.merge(olds, merged)
}

// gone lets go of what is kept of a segment.
func (p *property) gone(s *segment.Segment) {
	p.views.drop(s)
	p.cache.Forget(s)
	p.versions.gone(s)
}

// TagOwner returns the manifest by which an item carries a tag.
func (f *follower) TagOwner(id library.PropertyID, t item.Tag, of item.ID) (library.Owner, bool) {
	p, err := f.served(id)
	if err != nil {
		return library.Owner{}, false
	}
	m, let, err := p.at(context.Background(), f.store.Now())
	if err != nil {
		return library.Owner{}, false
	}
	defer let()
	h, ok := m.find(of)
	if !ok {
		return library.Owner{}, false
	}
	for i, r := range m.catalogue.TagRules {
		if r.Tag != t {
			continue
		}
		carries, err := m.corpus.Carries(context.Background(), i, m.parts[h.Part], h.Doc)
		if err != nil {
			p.log.Warn("a selector cannot be evaluated", slog.String("rule", r.Owner.String()), slog.Any("error", err))
		}
		return r.Owner, carries
	}
	return library.Owner{}, false
}

// Erase has the bytes of deleted items leave the segments.
func (f *follower) Erase(ctx context.Context) error {
	err := f.notLoaded()
	for _, p := range f.all() {
		if x := p.segments(); x != nil {
			err = errors.Join(err, x.Erase(ctx))
		}
	}
	return err
}

// all lists the properties, by id.
func (f *follower) all() []*property {
	f.mu.RLock()
	defer f.mu.RUnlock()
	all := make([]*property, 0, len(f.properties))
	for _, id := range slices.Sorted(maps.Keys(f.properties)) {
		all = append(all, f.properties[id])
	}
	return all
}

// Close seals what is in memory and ends all reading.
func (f *follower) Close() error {
	f.stopLoading()
	f.mu.Lock()
	f.closed = true
	properties := f.properties
	f.mu.Unlock()
	var err error
	for _, p := range properties {
		if x := p.end(); x != nil {
			err = errors.Join(err, x.Close())
		}
	}
	return err
}
