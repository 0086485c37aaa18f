package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/engine/index"
	"github.com/vitrine-dev/vitrine/server/engine/read"
	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// follower implements store.Index: it updates the segments of every property with each batch of the store.
type follower struct {
	options Options
	cache   *search.Cache
	room    *segment.Room

	store *store.Store
	// fresh lists the properties that the prepared batch creates. It is nil if there is no prepared batch.
	fresh []*property

	mu sync.RWMutex
	// loading opens the indexes.
	loading    *loading
	properties map[library.PropertyID]*property
	// failed holds the reason for each stored property whose index is not open. The reason is an error of type opening until an attempt to
	// open the index has failed, and after that the error of the latest failed attempt. attempt is the current attempt to open one of these
	// indexes, or nil if there is none.
	failed  map[library.PropertyID]error
	attempt *attempt
	closed  bool
}

var _ store.Index = (*follower)(nil)

// directory is the name of the directory with the indexes, which is in the directory of the store.
const directory = "index"

// Load opens the indexes of all stored properties. If the store was reopened, Load first abandons the previous indexes. Reads then use the
// last snapshots of these indexes until the new indexes are open. While the index of a property is not open, writes of its items return
// ErrUnavailable. Reads of a property that has no such snapshot also return ErrUnavailable. Load retries failed indexes in the background
// until they are open. These retries do not delay other properties. Load returns when each index is open or has failed once, or after
// Options.patience.
func (f *follower) Load(s *store.Store) error {
	f.store = s
	f.stopLoading()
	for _, p := range f.all() {
		p.abandon()
	}
	for _, p := range f.fresh {
		p.end().Abandon() // the batch that creates this property was not committed
	}
	f.fresh = nil
	l := newLoading()
	f.mu.Lock()
	gone := f.properties
	f.loading, f.properties, f.failed = l, map[library.PropertyID]*property{}, map[library.PropertyID]error{}
	for _, id := range s.Stored() {
		f.failed[id] = opening{l}
		if p := gone[id]; p != nil {
			f.properties[id] = p // readers can still use its previous snapshot
			delete(gone, id)
		}
	}
	f.mu.Unlock()
	for _, p := range gone {
		p.end()
	}
	go f.load(l)
	if !l.wait(f.options.patience) {
		f.options.Logger.Warn("rebuilding the index of a property; the property is not served until the rebuild is complete")
	}
	return nil
}

// open opens the index of one property.
func (f *follower) open(ctx context.Context, id library.PropertyID, adjust func(*index.Options)) (*property, error) {
	o := f.options
	log := o.Logger.With(slog.String("property", string(id)))
	p := &property{id: id, reads: read.NewProperty(read.Options{ID: id, Store: f.store, Cache: f.cache, Logger: log, RankedHits: o.rankedHits})}
	options := index.Options{
		Store: f.store, Property: id, Dir: f.dir(id), FS: o.fs, Room: f.room, Logger: log,
		SealDocs: o.sealDocs, SealBytes: o.sealBytes(), MemoryParts: o.memoryParts, FanIn: o.fanIn, MaxDocs: o.maxDocs,
		OnMerge: p.reads.Merged,
	}
	adjust(&options)
	var err error
	p.index, err = index.Open(ctx, options)
	return p, err
}

// disk returns the file system of the indexes.
func (f *follower) disk() vfs.FS {
	if f.options.fs != nil {
		return f.options.fs
	}
	return vfs.Default
}

// requireStore returns an error if the directory holds indexes but no store. Without this check, Open would create an empty store and
// remove the indexes.
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
	return fmt.Errorf("%s holds indexes, but the database of their items is missing: restore the newest backup, or move the directory away to start with an empty store", dir)
}

// dir returns the index directory of a property.
func (f *follower) dir(id library.PropertyID) string {
	return f.disk().PathJoin(f.options.Dir, directory, dirName(id))
}

// longestDirName is the maximum length of a file name in bytes on common file systems. hashMark begins the name of the directory of a
// property whose ID in hex is longer. It contains a character that is not a hex digit.
const (
	longestDirName = 255
	hashMark       = "sha256-"
)

// dirName returns the name of the index directory of a property. The name is the ID in hex, because an ID can contain characters that
// file names do not allow. If that is too long, the name is a hash of the ID.
func dirName(id library.PropertyID) string {
	if name := hex.EncodeToString([]byte(id)); len(name) <= longestDirName {
		return name
	}
	sum := sha256.Sum256([]byte(id))
	return hashMark + hex.EncodeToString(sum[:])
}

// removeGone removes the index directories of properties that are not in the store. Such a directory remains if the process ends or the
// disk fails during a purge.
func (f *follower) removeGone(l *loading) error {
	root := f.disk().PathJoin(f.options.Dir, directory)
	names, err := f.disk().List(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, l.hold(f.store, func() error {
		kept := map[string]bool{}
		for _, id := range f.store.Stored() {
			kept[dirName(id)] = true
		}
		for _, p := range f.fresh { // these are not in the store before the batch is committed
			kept[dirName(p.id)] = true
		}
		var err error
		for _, name := range names {
			if _, notOurs := hex.DecodeString(strings.TrimPrefix(name, hashMark)); notOurs == nil && !kept[name] {
				err = errors.Join(err, f.disk().RemoveAll(f.disk().PathJoin(root, name)))
			}
		}
		return err
	}))
}

// Prepare prepares the indexes for a batch. It returns ErrUnavailable if the batch changes items of a property whose index is not open.
// It accepts a batch that changes only definitions of such a property.
func (f *follower) Prepare(c *store.Change, keys *store.IndexBatch) (install func(), err error) {
	b := &batch{f: f, version: c.Version, failed: map[library.PropertyID]error{}}
	defer func() {
		if err == nil {
			f.fresh = b.fresh
			return
		}
		for _, p := range b.fresh {
			p.end().Abandon()
		}
	}()
	for _, pc := range c.Properties {
		if err := b.prepare(pc, keys); err != nil {
			return nil, err
		}
	}
	for _, id := range c.Purged {
		if err := index.DropKeys(id, keys); err != nil {
			return nil, err
		}
		if p := f.property(id); p != nil {
			b.purged = append(b.purged, p)
		}
	}
	if len(c.Purged) > 0 {
		f.forgetFailed(c.Purged)
	}
	return b.install, nil
}

// batch holds the changes that one batch of the store makes to the indexes.
type batch struct {
	f       *follower
	version uint64
	steps   []step
	// fresh lists the new properties whose index was opened. failed holds the error for each new property whose index cannot be opened.
	fresh  []*property
	failed map[library.PropertyID]error
	purged []*property
}

// step is the prepared change of one property in a batch of the store.
type step struct {
	property *property
	prepared *index.Prepared
	after    *definitions.Catalogue
}

// prepare prepares the changes that the batch makes to the index of one property.
func (b *batch) prepare(pc store.PropertyChange, keys *store.IndexBatch) error {
	f := b.f
	p, cause := f.property(pc.Property), f.failure(pc.Property)
	if p == nil && cause == nil {
		var err error
		if p, err = f.open(context.Background(), pc.Property, func(*index.Options) {}); err == nil {
			b.fresh = append(b.fresh, p)
		} else {
			f.logFailure(pc.Property, err)
			b.failed[pc.Property], cause = err, unindexed(pc.Property, err)
		}
	}
	if cause != nil {
		if len(pc.Items) > 0 {
			return cause
		}
		return index.Pass(f.store, pc.Property, b.version, keys)
	}
	prepared, err := p.index.Prepare(b.version, pc.Items, keys)
	if err != nil {
		return fmt.Errorf("property %s: %w", pc.Property, err)
	}
	b.steps = append(b.steps, step{p, prepared, pc.After})
	return nil
}

// install makes the batch visible. The store calls it after it has committed the batch.
func (b *batch) install() {
	f := b.f
	f.fresh = nil
	for _, s := range b.steps {
		s.property.publish(s.prepared, s.after, b.version)
	}
	f.mu.Lock()
	for _, p := range b.fresh {
		f.properties[p.id] = p
	}
	for _, p := range b.purged {
		delete(f.properties, p.id)
	}
	maps.Copy(f.failed, b.failed)
	f.mu.Unlock()
	if len(b.failed) > 0 {
		f.loading.retry()
	}
	for _, p := range b.purged {
		if x := p.end(); x != nil {
			x.Drop()
		}
	}
}

// property returns a property if its index is open or it has an earlier snapshot, and nil otherwise.
func (f *follower) property(id library.PropertyID) *property {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.properties[id]
}

// served returns a property if it can be read. Otherwise it returns ErrClosed, ErrNotFound or ErrUnavailable.
func (f *follower) served(id library.PropertyID) (*property, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	switch p := f.properties[id]; {
	case f.closed:
		return nil, library.ErrClosed
	case p != nil:
		return p, nil
	case f.failed[id] != nil:
		return nil, unindexed(id, f.failed[id])
	}
	return nil, library.UnknownProperty(id)
}

// TagOwner returns the owner of the rule that adds a tag to an item.
func (f *follower) TagOwner(id library.PropertyID, t item.Tag, of item.ID) (library.Owner, bool, error) {
	p, err := f.served(id)
	if err != nil {
		return library.Owner{}, false, err
	}
	s, release, err := p.snapshot(context.Background(), f.store.Now())
	if err != nil {
		return library.Owner{}, false, err
	}
	defer release()
	return s.TagOwner(context.Background(), t, of)
}

// Erase removes the bytes of deleted items from the segments, and removes the leftover directories of purged properties. It fails while
// the index of any property is not open, because the files of such an index may contain bytes of deleted items.
func (f *follower) Erase(ctx context.Context) error {
	var err error
	pending := f.failures(true)
	if len(pending) == 0 {
		if err = f.removeGone(f.loading); err != nil {
			err = fmt.Errorf("remove indexes of purged properties: %w", err)
		}
	}
	for _, failed := range []map[library.PropertyID]error{pending, f.failures(false)} {
		for id, cause := range failed {
			err = errors.Join(err, unindexed(id, cause))
		}
	}
	for _, p := range f.all() {
		if x := p.segments(); x != nil {
			err = errors.Join(err, x.Erase(ctx))
		}
	}
	return err
}

// all lists the properties that have an open index or an earlier snapshot, sorted by ID.
func (f *follower) all() []*property {
	f.mu.RLock()
	defer f.mu.RUnlock()
	all := make([]*property, 0, len(f.properties))
	for _, id := range slices.Sorted(maps.Keys(f.properties)) {
		all = append(all, f.properties[id])
	}
	return all
}

// Close seals the segments in memory and stops all reads.
func (f *follower) Close() {
	f.stopLoading()
	if f.loading != nil {
		<-f.loading.ended
	}
	f.mu.Lock()
	f.closed = true
	properties := f.properties
	f.mu.Unlock()
	for _, p := range properties {
		if x := p.end(); x != nil {
			x.Close()
		}
	}
}
