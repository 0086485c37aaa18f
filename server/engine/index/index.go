package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/parallel"
	"github.com/vitrine-dev/vitrine/server/store"
)

// Options holds the settings of Open.
type Options struct {
	// Store is the source of truth. Property is the property in the store that Open indexes. Both are required.
	Store    *store.Store
	Property library.PropertyID
	// Dir is the directory of the files. Open creates it if it does not exist. Required.
	Dir string
	// FS is the file system; nil means the file system of the operating system. Open maps files of the operating system, and reads files of
	// any other FS into memory.
	FS vfs.FS
	// Room is the memory in which the kernel can keep the files. All indexes of a process share it. nil means that it is large enough.
	Room *segment.Room
	// Logger receives messages for the operator; nil disables logging.
	Logger *slog.Logger
	// When the segments in memory have SealDocs documents or SealBytes bytes, they are sealed into a file; 0 means 32,768 documents and 64
	// MiB. These options limit the number of items that a restart must read from the store again.
	SealDocs  int
	SealBytes int64
	// MemoryParts is the maximum number of small segments in memory; 0 means 8. If there are more, some of them are merged. A segment of at
	// least 1/(2·MemoryParts) of SealDocs or SealBytes is large and is not merged in memory, so there are at most 3·MemoryParts segments in
	// total. In a write burst, a segment of 1/(8·MemoryParts) is already large, and the maximum is 9·MemoryParts segments in total. In a
	// quiet period, segments of similar size are merged regardless of these limits.
	MemoryParts int
	// FanIn is the number of files of similar size that are merged into one; 0 means 4. In a write burst, merging waits for 4·FanIn files. In
	// a quiet period, two files are enough.
	FanIn int
	// MaxDocs is the maximum number of live documents in a file that results from merging several files; 0 means 1,048,576. A file with
	// more than MaxDocs/2 live documents is not merged with other files.
	MaxDocs int
	// OnMerge is called before a merged segment replaces its inputs, so that the caller can carry over cached results. maps[i] maps each
	// document of inputs[i] to its new number (see segment.Merge). OnMerge may be nil.
	OnMerge func(inputs []segment.Part, merged *segment.Segment, maps [][]uint32)
	// Sound determines what Open does if a file is lost, damaged or of another format, or if the store was written without its index. If
	// Sound is true, Open changes nothing and returns ErrRebuild. Otherwise, Open rebuilds the index or the file.
	Sound bool
	// OnReplay is called while Open indexes items again, with the number of items indexed so far and the total. It may be nil.
	OnReplay func(done, of int)
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.SealDocs = cmp.Or(o.SealDocs, 32<<10)
	o.SealBytes = cmp.Or(o.SealBytes, 64<<20)
	o.MemoryParts = cmp.Or(o.MemoryParts, 8)
	o.FanIn = cmp.Or(o.FanIn, 4)
	o.MaxDocs = cmp.Or(o.MaxDocs, 1<<20)
	if o.OnMerge == nil {
		o.OnMerge = func([]segment.Part, *segment.Segment, [][]uint32) {}
	}
	if o.OnReplay == nil {
		o.OnReplay = func(int, int) {}
	}
	return o
}

// Index holds the segments of one property. Only the store's writer calls Prepare, Install, Drop and Close. All other methods are
// safe for concurrent use.
type Index struct {
	o       Options
	current atomic.Pointer[Snapshot]
	// The task `memory` merges segments in memory, the task `seals` seals them into files, and the task `files` merges files. The tasks run
	// concurrently, so that a long task does not delay the others. A goroutine that holds `seals` (see task.with) may also take `memory`. A
	// goroutine that holds `memory` or `files` must not take another task. quit ends the tasks, and running waits until they have ended.
	memory, seals, files *task
	pace                 *pace
	ctx                  context.Context
	quit                 context.CancelFunc
	running              sync.WaitGroup
	// room is closed and replaced each time segments in memory have been sealed. See Wait.
	roomMu sync.Mutex
	room   chan struct{}

	// pending is the latest prepared batch. It is nil after the batch is installed.
	pending *Prepared
	// ended is true after Close, Abandon or Drop. From then on, the index must write nothing to the store, because another index may have
	// replaced it.
	ended atomic.Bool

	nextFile atomic.Uint64
	// opening is a random number in the names of files. It distinguishes the files of this Index from the files of an earlier Index, which
	// may still be in use.
	opening uint32
	// unsaved becomes true when load finds that data was lost, or when load seals data without writing a manifest. It becomes false when all
	// data is in files that the manifest names.
	unsaved atomic.Bool
	// loaded is the last batch of the store when the index was loaded.
	loaded uint64
	// journaled is the approximate number of journal keys.
	journaled atomic.Int64
	leftovers leftovers
	counters  counters
	// builders and scratches are pools of *segment.Builder and *segment.Scratch.
	builders, scratches sync.Pool
}

// counters holds the values of Stats that are not derived from the snapshot.
type counters struct {
	seals, merges, rebuilt atomic.Int64
	docsIn, docsWritten    atomic.Int64
	rebuildLeft            atomic.Int64
}

// ErrRebuild means that the index, or a part of it, must be rebuilt from the store. Open returns it only if Options.Sound is true.
// Otherwise, Open does the rebuild itself.
var ErrRebuild = errors.New("the index must be rebuilt from the store")

// Open opens the index of a property. It maps the files, rebuilds damaged and lost files, and indexes the items that changed after the
// files were written. During Open, the store must not commit changes of the property's items.
func Open(ctx context.Context, o Options) (*Index, error) {
	o = o.withDefaults()
	if o.Store == nil || o.Dir == "" || o.Property == "" {
		return nil, errors.New("open an index: no store, property or directory given")
	}
	if err := o.FS.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of the index: %w", err)
	}
	if err := syncDir(o.FS, o.FS.PathDir(o.Dir)); err != nil {
		return nil, fmt.Errorf("create the directory of the index: %w", err)
	}
	x := &Index{o: o, memory: newTask(), seals: newTask(), files: newTask(), room: make(chan struct{}), opening: rand.Uint32()}
	x.ctx, x.quit = context.WithCancel(context.Background())
	x.pace = newPace(func() {
		x.memory.wake()
		x.files.wake()
	})
	if err := x.load(ctx); err != nil {
		x.Abandon()
		return nil, fmt.Errorf("index of property %s: %w", o.Property, err)
	}
	x.running.Go(func() { x.run(x.memory, x.mergeMemory) })
	x.running.Go(func() { x.run(x.seals, x.sealMemory) })
	x.running.Go(func() { x.run(x.files, x.mergeFiles) })
	x.running.Go(x.scrub)
	x.memory.wake()
	x.seals.wake()
	x.files.wake()
	return x, nil
}

// Prepared is a batch whose segments are built but not yet visible.
type Prepared struct {
	x         *Index
	next      *Snapshot
	journaled int
}

// Prepare builds the segments of one batch of the store, and adds the batch's journal keys to the parameter keys. Readers see the segments
// only after Install. If the caller does not install a Prepared, the next Prepare releases it.
func (x *Index) Prepare(version uint64, items []store.ItemChange, keys *store.IndexBatch) (*Prepared, error) {
	x.discard()
	changes := make([]change, len(items))
	for i, c := range items {
		if err := keys.Set(x.journalKey(version, c.ID), nil); err != nil {
			return nil, fmt.Errorf("write the journal: %w", err)
		}
		changes[i] = change{id: c.ID, item: c.Item, existed: c.Existed, erase: c.Erase}
	}
	next, err := x.apply(x.current.Load(), version, version, changes)
	if err != nil {
		return nil, err
	}
	if err := setKnown(keys, x.o.Property, version); err != nil {
		next.Release()
		return nil, fmt.Errorf("write the journal: %w", err)
	}
	x.pending = &Prepared{x, next, len(items)}
	return x.pending, nil
}

// discard releases a batch that was prepared but not installed.
func (x *Index) discard() {
	if x.pending != nil {
		x.pending.next.Release()
		x.pending = nil
	}
}

// Install makes a batch visible.
func (p *Prepared) Install() {
	p.x.pending = nil
	p.x.publish(p.next)
	p.x.journaled.Add(int64(p.journaled))
	p.x.pace.wrote(p.journaled, p.x.o.SealDocs)
	p.x.memory.wake()
	p.x.seals.wake()
}

// change is a created, changed or deleted item. The field item is nil for a deleted item.
type change struct {
	id      item.ID
	item    *item.Item
	existed bool
	// erase has the value of store.ItemChange.Erase.
	erase bool
}

// apply returns the snapshot that results from applying changes to the snapshot `from`. version is the batch of the new snapshot. since
// is the oldest batch to which a change can belong.
func (x *Index) apply(from *Snapshot, version, since uint64, changes []change) (*Snapshot, error) {
	died := make([]*roaring.Bitmap, len(from.entries))
	erased := make([]bool, len(from.entries))
	var docs []*item.Item
	for _, c := range changes {
		if c.existed {
			from.findVersions(c, died, erased)
		}
		if c.item != nil {
			docs = append(docs, c.item)
		}
	}
	var fresh []*segment.Segment
	if len(docs) > 0 {
		var err error
		if fresh, err = x.buildItems(docs); err != nil {
			return nil, err
		}
	}
	next := from.edit(version)
	for i, d := range died {
		if d != nil {
			next.entries[i].kill(d)
		}
		next.entries[i].erase = next.entries[i].erase || erased[i]
	}
	for _, s := range fresh {
		next.add(newPart(x, s, "", since), nil, false)
	}
	x.counters.docsIn.Add(int64(len(docs)))
	return next, nil
}

// findVersions finds the documents that a change replaces, and adds those in entry i to died[i]. If the bytes of the item must be erased,
// it also sets erased[i] for each entry i that contains any version of the item.
func (s *Snapshot) findVersions(c change, died []*roaring.Bitmap, erased []bool) {
	// Search the most recent segments first, because the live version of an item is likely to be there.
	for i, e := range slices.Backward(s.entries) {
		doc, ok := e.segment.Find(c.id)
		if !ok {
			continue
		}
		if c.erase {
			// Versions that were replaced earlier must also be erased.
			erased[i] = true
		}
		if !e.input().Lives(doc) {
			continue
		}
		if died[i] = with(died[i], doc); !c.erase {
			return
		}
	}
}

// splitFrom is the minimum number of items for which several processors build one segment each. For so many items, building takes most of
// the time of a batch, and the segments are large enough not to be merged in memory.
const splitFrom = 2048

// buildItems builds one segment of the items. If there are at least splitFrom items, it builds up to maxPieces segments.
func (x *Index) buildItems(items []*item.Item) ([]*segment.Segment, error) {
	workers := parallel.Workers(len(items))
	docs := make([]segment.Doc, len(items))
	scratches := make([]*segment.Scratch, workers)
	_ = parallel.Run(workers, func(worker int) error {
		scratch, ok := x.scratches.Get().(*segment.Scratch)
		if !ok {
			scratch = new(segment.Scratch)
		}
		for i := worker; i < len(items); i += workers {
			docs[i] = scratch.NewDoc(items[i])
		}
		scratches[worker] = scratch
		return nil
	})
	defer func() {
		for _, scratch := range scratches {
			scratch.Reset()
			x.scratches.Put(scratch)
		}
	}()
	pieces := 1
	if len(items) >= splitFrom {
		pieces = min(workers, maxPieces)
	}
	built := make([]*segment.Segment, pieces)
	err := parallel.Run(pieces, func(n int) (err error) {
		b, ok := x.builders.Get().(*segment.Builder)
		if !ok {
			b = segment.NewBuilder()
		}
		built[n], err = b.Build(docs[n*len(docs)/pieces : (n+1)*len(docs)/pieces])
		x.builders.Put(b)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("build a segment: %w", err)
	}
	return built, nil
}

// maxPieces is the maximum number of segments of one batch. It limits the number of segments in memory if the machine has many
// processors.
const maxPieces = 4

// publish replaces the current snapshot.
func (x *Index) publish(next *Snapshot) {
	if old := x.current.Swap(next); old != nil {
		old.Release()
	}
}

// Acquire returns the current snapshot. The caller must release it.
func (x *Index) Acquire() *Snapshot {
	for {
		s := x.current.Load()
		if s.hold() {
			return s
		}
	}
}

// Wait waits until memory has room for more changes. It waits only if writes are faster than sealing.
func (x *Index) Wait(ctx context.Context) error {
	for {
		x.roomMu.Lock()
		room := x.room
		x.roomMu.Unlock()
		s := x.Acquire()
		docs, bytes := s.inMemory()
		s.Release()
		if docs < crowded*x.o.SealDocs && bytes < crowded*x.o.SealBytes || x.seals.failing() != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-x.ctx.Done():
			return nil
		case <-room:
		case <-time.After(time.Second):
		}
	}
}

// crowded determines when writers have to wait: when memory holds crowded·SealDocs documents or crowded·SealBytes bytes.
const crowded = 2

func (x *Index) madeRoom() {
	x.roomMu.Lock()
	defer x.roomMu.Unlock()
	close(x.room)
	x.room = make(chan struct{})
}

// Close ends the background tasks and seals the segments in memory, so that the next start is fast. Each file is closed when the last
// snapshot that contains the file is released.
func (x *Index) Close() {
	x.quit()
	x.running.Wait()
	if err := x.Seal(context.Background()); err != nil {
		// No data is lost, because the journal lists all items whose changes are only in memory.
		x.o.Logger.Warn("the segments in memory could not be sealed; the next start rebuilds them from the store", slog.Any("error", err))
	}
	x.end()
}

// errEnded is the error of an attempt to write to the store after the index has ended.
var errEnded = errors.New("the index is closed")

// end marks the index as ended and releases its snapshot. Later readers get an empty snapshot.
func (x *Index) end() {
	x.ended.Store(true)
	x.publish(newSnapshot(0))
}

// Abandon ends the index without writing anything. Use it after a store error that leaves unknown which data was committed. Abandon does
// not wait for the background tasks, because they may be waiting for the store, which the caller holds. A task that gets the store after
// that writes nothing, because it first checks ended.
func (x *Index) Abandon() {
	x.quit()
	x.discard()
	x.end()
}

// Drop ends the index of a property that is purged, and unlinks the index's files immediately. Readers that hold a snapshot have the files
// open and can continue. The caller deletes the keys of the index with DropKeys in the batch that purges the property. Like Abandon, Drop
// does not wait for the background tasks. If a task is writing a file, the task removes it. Files that cannot be removed stay in
// Options.Dir, which the caller removes.
func (x *Index) Drop() {
	x.quit()
	for _, e := range x.current.Load().entries {
		e.obsolete.Store(true)
		e.unlink()
	}
	x.end()
}

// Stats describes an index.
type Stats struct {
	// Files and MemoryParts count the segments on disk and in memory.
	Files, MemoryParts int
	// Docs counts all documents, and Dead counts those with a tombstone.
	Docs, Dead int64
	// MemoryBytes is the size of the segments in the heap. DerivedBytes is the size of the data that was derived from fields of segments on
	// first use. MappedIndex and MappedItems are the sizes of the indexes and of the items in mapped files.
	MemoryBytes, DerivedBytes, MappedIndex, MappedItems int64
	// Seals and Merges count these operations since the index was opened. Rebuilt counts the rebuilds from the store.
	Seals, Merges, Rebuilt int64
	// DocsIn counts the documents that were built from items. DocsWritten counts the documents that seals and merges wrote to files or to
	// memory. DocsWritten/DocsIn is the write amplification.
	DocsIn, DocsWritten int64
	// RebuildLeft is the number of items that must still be read from the store to rebuild a damaged file.
	RebuildLeft int64
	// Problem joins the errors of the last runs of sealing and merging. It is nil if all succeeded. The background tasks retry after an
	// error.
	Problem error
}

// DropDerived drops the data that Stats.DerivedBytes counts. The next use builds it again.
func (x *Index) DropDerived() {
	s := x.Acquire()
	defer s.Release()
	for _, e := range s.entries {
		for f := range e.segment.Fields() {
			f.DropDerived()
		}
	}
}

// Stats returns the current Stats of the index.
func (x *Index) Stats() Stats {
	c := &x.counters
	out := Stats{
		Seals: c.seals.Load(), Merges: c.merges.Load(), Rebuilt: c.rebuilt.Load(),
		DocsIn: c.docsIn.Load(), DocsWritten: c.docsWritten.Load(),
		RebuildLeft: c.rebuildLeft.Load(), Problem: errors.Join(x.memory.failing(), x.seals.failing(), x.files.failing()),
	}
	s := x.Acquire()
	defer s.Release()
	for _, e := range s.entries {
		docs := e.segment.Len()
		out.Docs += int64(docs)
		out.Dead += int64(docs - e.input().Live())
		for f := range e.segment.Fields() {
			out.DerivedBytes += f.Derived()
		}
		if e.file == "" {
			out.MemoryParts++
		} else {
			out.Files++
		}
		if e.segment.Mapped() {
			out.MappedIndex += e.segment.IndexBytes()
			out.MappedItems += e.segment.ItemBytes()
		} else {
			out.MemoryBytes += e.bytes()
		}
	}
	return out
}
