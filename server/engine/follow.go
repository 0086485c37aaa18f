package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/engine/index"
	"github.com/vitrine-dev/vitrine/server/engine/read"
	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// follower is the index of the engine: it has the segments of every property follow the store.
type follower struct {
	options Options
	cache   *search.Cache

	store *store.Store
	// fresh are the properties of a batch that is prepared and not installed.
	fresh []*property

	mu sync.RWMutex
	// loading is what opens the indexes, and loaded is true once it has opened them all, but for those that failed.
	loading    *loading
	loaded     bool
	properties map[library.PropertyID]*property
	// failed are the stored properties whose index cannot be opened, and why. attempt is the current attempt to open one of them
	// again, nil for none.
	failed  map[library.PropertyID]error
	attempt *attempt
	closed  bool
}

var _ store.Index = (*follower)(nil)

// directory is where the indexes lie in the directory of a store.
const directory = "index"

// Load opens the indexes of all stored properties. When the store was opened anew, the indexes of before are given up
// first; what they showed can be read until then. A property whose index cannot be opened takes no changes of items, and answers
// ErrUnavailable unless it was read before; its index is opened again until that succeeds. It keeps no other property from being
// served. A rebuild of an index takes long: after a while
// Load returns and leaves it to the background. Until it is done nothing is read, or what was there before, and nothing is
// written.
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
	f.loading, f.loaded = l, false
	f.mu.Unlock()
	go f.load(l)
	patience := time.NewTimer(f.options.patience)
	defer patience.Stop()
	select {
	case <-l.done:
		return l.err
	case <-patience.C:
	}
	f.options.Logger.Warn("an index is being rebuilt: nothing is served until that is done")
	return nil
}

// open opens the index of one property.
func (f *follower) open(ctx context.Context, id library.PropertyID, replayed func(done, of int)) (*property, error) {
	o := f.options
	log := o.Logger.With(slog.String("property", string(id)))
	p := &property{id: id, reads: read.NewProperty(read.Options{ID: id, Store: f.store, Cache: f.cache, Logger: log, RankedHits: o.rankedHits})}
	var err error
	p.index, err = index.Open(ctx, index.Options{
		Store: f.store, Property: id, Dir: f.dir(id), FS: o.fs, Logger: log,
		SealDocs: o.sealDocs, SealBytes: o.sealBytes(), MemoryParts: o.memoryParts, FanIn: o.fanIn, MaxDocs: o.maxDocs,
		OnMerge: p.reads.Merged, OnReplay: replayed,
	})
	return p, err
}

// disk is the file system of the indexes.
func (f *follower) disk() vfs.FS {
	if f.options.fs != nil {
		return f.options.fs
	}
	return vfs.Default
}

// requireStore refuses a directory whose indexes have lost their store: an empty store would be made, and the indexes removed.
func (f *follower) requireStore() error {
	disk, dir := f.disk(), f.options.Dir
	if made, err := store.Made(disk, dir); err != nil || made {
		return err
	}
	names, err := disk.List(disk.PathJoin(dir, directory))
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0:
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%s holds indexes, but the database of their items is missing: restore the newest backup, or move the directory away to begin anew", dir)
}

// dir is the directory of a property.
func (f *follower) dir(id library.PropertyID) string {
	return f.disk().PathJoin(f.options.Dir, directory, dirName(id))
}

// dirName is the name of the directory of a property: its id may hold what a file name may not.
func dirName(id library.PropertyID) string { return hex.EncodeToString([]byte(id)) }

// removeGone removes the directories of properties that are not stored: what a purge left when its process ended or a disk failed.
// The caller holds the store, or there are no writes yet. fresh are properties of a batch that is not installed.
func (f *follower) removeGone(fresh ...*property) error {
	kept := map[string]bool{}
	for _, id := range f.store.Stored() {
		kept[dirName(id)] = true
	}
	for _, p := range fresh {
		kept[dirName(p.id)] = true
	}
	root := f.disk().PathJoin(f.options.Dir, directory)
	names, err := f.disk().List(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if _, notOurs := hex.DecodeString(name); notOurs == nil && !kept[name] {
			err = errors.Join(err, f.disk().RemoveAll(f.disk().PathJoin(root, name)))
		}
	}
	return err
}

// Prepare has the indexes prepare what a batch changes. A batch that changes items of a property whose index cannot be opened is
// refused with ErrUnavailable; one that changes its definitions alone is not.
func (f *follower) Prepare(c *store.Change, keys *store.IndexBatch) (install func(), err error) {
	type step struct {
		p        *property
		prepared *index.Prepared
		change   store.PropertyChange
	}
	if err := f.notLoaded(); err != nil && len(c.Properties)+len(c.Purged) > 0 {
		return nil, err
	}
	var steps []step
	var fresh []*property
	failed := map[library.PropertyID]error{} // fresh ones whose index cannot be opened
	defer func() {
		if err == nil {
			f.fresh = fresh
			return
		}
		for _, p := range fresh {
			p.end().Abandon()
		}
	}()
	for _, pc := range c.Properties {
		p, cause := f.property(pc.Property), f.failure(pc.Property)
		if p == nil && cause == nil {
			if p, cause = f.open(context.Background(), pc.Property, nil); cause == nil {
				fresh = append(fresh, p)
			} else {
				f.logFailure(pc.Property, cause)
				failed[pc.Property] = cause
			}
		}
		if cause != nil {
			if len(pc.Items) > 0 {
				return nil, unindexed(pc.Property, cause)
			}
			if err := index.Pass(f.store, pc.Property, c.Version, keys); err != nil {
				return nil, err
			}
			continue
		}
		prepared, err := p.index.Prepare(c.Version, pc.Items, keys)
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", pc.Property, err)
		}
		steps = append(steps, step{p, prepared, pc})
	}
	var purged []*property
	for _, id := range c.Purged {
		if err := index.DropKeys(id, keys); err != nil {
			return nil, err
		}
		if p := f.property(id); p != nil {
			purged = append(purged, p)
		}
	}
	if len(c.Purged) > 0 {
		f.forgetFailed(c.Purged)
	}
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
		maps.Copy(f.failed, failed)
		f.mu.Unlock()
		if len(failed) > 0 {
			f.loading.retry()
		}
		for _, p := range purged {
			if x := p.end(); x != nil {
				x.Drop()
			}
		}
	}, nil
}

// property returns a property that has anything stored, nil for others.
func (f *follower) property(id library.PropertyID) *property {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.properties[id]
}

// served returns a property that may be read. ErrClosed, ErrNotFound, ErrUnavailable.
func (f *follower) served(id library.PropertyID) (*property, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	switch p := f.properties[id]; {
	case f.closed:
		return nil, library.ErrClosed
	case p != nil:
		return p, nil
	case !f.loaded:
		return nil, f.loading.unavailable()
	case f.failed[id] != nil:
		return nil, unindexed(id, f.failed[id])
	}
	return nil, library.UnknownProperty(id)
}

// notLoaded is why nothing can be written yet; nil once every index is open or has failed.
func (f *follower) notLoaded() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.loaded {
		return nil
	}
	return f.loading.unavailable()
}

// TagOwner returns the manifest by which an item carries a tag.
func (f *follower) TagOwner(id library.PropertyID, t item.Tag, of item.ID) (library.Owner, bool) {
	p, err := f.served(id)
	if err != nil {
		return library.Owner{}, false
	}
	s, release, err := p.snapshot(context.Background(), f.store.Now())
	if err != nil {
		return library.Owner{}, false
	}
	defer release()
	return s.TagOwner(context.Background(), t, of)
}

// Erase removes the bytes of deleted items from the segments, and what is left of the indexes of purged properties. It fails while
// any index cannot be opened, because such an index may hold bytes of deleted items.
func (f *follower) Erase(ctx context.Context) error {
	err := f.notLoaded()
	if err == nil {
		if err = f.store.Hold(func() error { return f.removeGone(f.fresh...) }); err != nil {
			err = fmt.Errorf("remove indexes of purged properties: %w", err)
		}
	}
	for id, cause := range f.failures() {
		err = errors.Join(err, unindexed(id, cause))
	}
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
	if f.loading != nil {
		<-f.loading.ended
	}
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
