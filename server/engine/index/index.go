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

// Options are what an Index is opened with.
type Options struct {
	// Store is the truth that is followed, Property the part of it. Required.
	Store    *store.Store
	Property library.PropertyID
	// Dir is where the files lie; made where it is not there. Required.
	Dir string
	// FS is the file system; nil means the operating system's, whose files are mapped. Those of another are read into memory.
	FS vfs.FS
	// Logger takes what an operator may want to know; nil means nothing is logged.
	Logger *slog.Logger
	// SealDocs and SealBytes are how much is gathered in memory before it becomes a file; 0 means 32,768 documents and
	// 64 MiB. They bound what a restart has to read again.
	SealDocs  int
	SealBytes int64
	// MemoryParts is how many small segments there may be in memory before some are merged; 0 means 8. Those that have their
	// share of what is sealed, one part in twice MemoryParts, are left alone: there are three times as many at most. While
	// writes come fast, a smaller share is enough, and there are nine times as many at most.
	MemoryParts int
	// FanIn is how many files of about one size are merged into one; 0 means 4. While writes come fast, it is four times as
	// many.
	FanIn int
	// MaxDocs is the size above which a file is not merged with others any more; 0 means 524,288 documents.
	MaxDocs int
	// OnMerge is called before segments are replaced by one that was merged of them, so that what is kept of them can be
	// carried over: maps[i] tells of each document of inputs[i] which one it has become, see segment.Merge. nil for nothing.
	OnMerge func(inputs []segment.Part, merged *segment.Segment, maps [][]uint32)
	// Sound has Open fail with ErrRebuild, and change nothing, when a file is lost or damaged or has another format, or when the
	// store was written without its index.
	Sound bool
	// OnReplay is called while items are taken in again when the index is opened: how many are done, and of how many. nil for
	// nothing.
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
	o.MaxDocs = cmp.Or(o.MaxDocs, 512<<10)
	if o.OnMerge == nil {
		o.OnMerge = func([]segment.Part, *segment.Segment, [][]uint32) {}
	}
	if o.OnReplay == nil {
		o.OnReplay = func(int, int) {}
	}
	return o
}

// Index is the segments of one property. Prepare, Install, Drop and Close are called by the store's writer alone; all other
// methods are safe for concurrent use.
type Index struct {
	o       Options
	current atomic.Pointer[Snapshot]
	// memory merges in memory, seals makes files of what is there, files merges those. Each task runs beside the others, so that
	// a long one keeps no batch from being merged with others. The holder of seals may take memory too; no other task may be taken
	// by the holder of one. quit ends the tasks, and running waits for that.
	memory, seals, files *task
	burst                *burst
	ctx                  context.Context
	quit                 context.CancelFunc
	running              sync.WaitGroup
	// room is closed and replaced when memory has been sealed, see Wait.
	roomMu sync.Mutex
	room   chan struct{}

	// pending was prepared last, and not installed yet.
	pending *Prepared
	// ended is set, while the store is held, when the index is given up: from then on nothing of it may reach the store,
	// where another one takes its place.
	ended atomic.Bool

	nextFile atomic.Uint64
	// opening tells the files of this opening of the index from those of another, which may still be read.
	opening uint32
	// unsaved is true from when loading found that something was lost until all is in files that the manifest names.
	unsaved atomic.Bool
	// loaded is the batch after which the index was loaded.
	loaded uint64
	// journaled is about how many keys the journal has.
	journaled atomic.Int64
	leftovers leftovers
	counters  counters
	// builders and scratches are those not in use, *segment.Builder and *segment.Scratch.
	builders, scratches sync.Pool
}

// counters are what Stats tells beside the snapshot.
type counters struct {
	seals, merges, memoryMerges, rebuilt atomic.Int64
	docsIn, docsWritten                  atomic.Int64
	rebuildLeft                          atomic.Int64
}

// ErrRebuild is returned by Open with Options.Sound when the index, or a part of it, has to be rebuilt from the store.
var ErrRebuild = errors.New("the index has to be rebuilt")

// Open opens the index of a property: it maps its files, rebuilds those that are damaged or lost, and takes in what has
// changed since they were written. Meanwhile the store must not commit any change of an item of the property.
func Open(ctx context.Context, o Options) (*Index, error) {
	o = o.withDefaults()
	if o.Store == nil || o.Dir == "" || o.Property == "" {
		return nil, errors.New("open an index: no store, property or directory given")
	}
	if err := o.FS.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the index: %w", err)
	}
	if err := syncDir(o.FS, o.FS.PathDir(o.Dir)); err != nil {
		return nil, fmt.Errorf("make the directory of the index: %w", err)
	}
	x := &Index{o: o, memory: newTask(), seals: newTask(), files: newTask(), room: make(chan struct{}), opening: rand.Uint32()}
	x.ctx, x.quit = context.WithCancel(context.Background())
	x.burst = newBurst(func() {
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

// Prepared is a batch whose segment is made and that no reader sees yet.
type Prepared struct {
	x         *Index
	next      *Snapshot
	journaled int
}

// Prepare makes what one batch of the store changes, and adds the journal of it to the batch. Nothing is visible before
// Install; a Prepared that is never installed costs nothing.
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

// discard lets go of what was prepared and never installed.
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
	p.x.burst.came(p.journaled, p.x.o.SealDocs)
	p.x.memory.wake()
	p.x.seals.wake()
}

// change is an item that comes, changes or goes (nil).
type change struct {
	id      item.ID
	item    *item.Item
	existed bool
	// erase see store.ItemChange.
	erase bool
}

// apply makes the snapshot of a batch that follows from some changes, the oldest of which may be of the batch since.
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

// findVersions adds the documents that a change replaces to died, by entry. When the bytes of the item have to go, erased notes
// each entry that has any version of it.
func (s *Snapshot) findVersions(c change, died []*roaring.Bitmap, erased []bool) {
	// The newest version is likely to be in a young segment.
	for i, e := range slices.Backward(s.entries) {
		doc, ok := e.segment.Find(c.id)
		if !ok {
			continue
		}
		if c.erase {
			// Versions that were replaced before have to go too.
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

// splitFrom is the number of items from which each processor builds a segment of its own: building is most of the work, and what
// is large need not be merged in memory.
const splitFrom = 2048

// buildItems makes segments of items: one, or a few of many.
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

// maxPieces is how many segments one batch becomes at most: a machine of many processors must not crowd memory with them.
const maxPieces = 4

// publish swaps a snapshot in.
func (x *Index) publish(next *Snapshot) {
	if old := x.current.Swap(next); old != nil {
		old.Release()
	}
}

// Acquire returns the present snapshot. It has to be released.
func (x *Index) Acquire() *Snapshot {
	for {
		s := x.current.Load()
		if s.hold() {
			return s
		}
	}
}

// Wait returns when there is room in memory for more: at once, unless writes came faster than they could be sealed.
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

// crowded is how many times as much as is sealed may gather in memory before writers have to wait.
const crowded = 2

func (x *Index) madeRoom() {
	x.roomMu.Lock()
	defer x.roomMu.Unlock()
	close(x.room)
	x.room = make(chan struct{})
}

// Close ends the background, seals what is in memory, so that the next start is quick, and closes each file once no
// snapshot has it.
func (x *Index) Close() error {
	x.quit()
	x.running.Wait()
	err := x.Seal(context.Background())
	if err != nil {
		// The journal has it all.
		x.o.Logger.Warn("what is in memory could not be sealed; the next start reads it from the store", slog.Any("error", err))
	}
	x.end()
	return nil
}

// errEnded is why nothing of an index reaches the store any more.
var errEnded = errors.New("the index was given up")

// end lets go of everything. Who looks from now on sees nothing.
func (x *Index) end() {
	x.ended.Store(true)
	x.publish(newSnapshot(0))
}

// Abandon ends the index without writing anything: after an error of the store it is not known what is in it. It does not wait
// for the background, which may be waiting for the store that the caller holds, and finds the index ended when it gets it.
func (x *Index) Abandon() {
	x.quit()
	x.discard()
	x.end()
}

// Drop ends the index of a property that is purged, and removes the names of its files at once: readers that still hold a
// snapshot need none. The keys of the index go with the batch, by DropKeys. Like Abandon, Drop does not wait for the background,
// which removes a file that it is still writing. Whatever cannot be removed now stays in Options.Dir, which the caller removes.
func (x *Index) Drop() {
	x.quit()
	for _, e := range x.current.Load().entries {
		e.obsolete.Store(true)
		e.unlink()
	}
	x.end()
}

// Stats describe an index.
type Stats struct {
	// Files and MemoryParts are the segments, on disk and in memory.
	Files, MemoryParts int
	// Docs counts documents, Dead those among them that are no longer items.
	Docs, Dead int64
	// MemoryBytes are segments in the heap, DerivedBytes what was made of segments on first use, MappedIndex and
	// MappedItems those of files.
	MemoryBytes, DerivedBytes, MappedIndex, MappedItems int64
	// Seals, Merges and MemoryMerges count since the index was opened; Rebuilt are files rebuilt from the store.
	Seals, Merges, MemoryMerges, Rebuilt int64
	// DocsIn are documents that came, DocsWritten those that seals and merges wrote, into files and in memory: their ratio is
	// the write amplification.
	DocsIn, DocsWritten int64
	// RebuildLeft is how many items are still to be read again from the store for a damaged file that is rebuilt.
	RebuildLeft int64
	// Problem is why nothing can be sealed or merged, nil when all is well. It is tried again.
	Problem error
}

// Stats describe the index; cheap.
func (x *Index) Stats() Stats {
	c := &x.counters
	out := Stats{
		Seals: c.seals.Load(), Merges: c.merges.Load(), MemoryMerges: c.memoryMerges.Load(), Rebuilt: c.rebuilt.Load(),
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
