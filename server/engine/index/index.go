package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
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
	// MemoryParts is how many segments there may be in memory before some are merged; 0 means 8.
	MemoryParts int
	// FanIn is how many files of about one size are merged into one; 0 means 4.
	FanIn int
	// MaxDocs is the size above which a file is not merged with others any more; 0 means 524,288 documents.
	MaxDocs int
	// OnMerge is called before segments are replaced by one that was merged of them, so that what is kept of them can be
	// carried over: maps[i] tells of each document of inputs[i] which one it has become, see segment.Merge. nil for nothing.
	OnMerge func(inputs []segment.Input, merged *segment.Segment, maps [][]uint32)
	// OnGone is called when a segment is about to be closed: nobody looks at it any more. nil for nothing.
	OnGone func(*segment.Segment)
	// OnReplay is called while items are taken in again when the index is opened: how many are done, and of how many. nil for
	// nothing.
	OnReplay func(done, of int)
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	def := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	def(&o.SealDocs, 32<<10)
	def(&o.MemoryParts, 8)
	def(&o.FanIn, 4)
	def(&o.MaxDocs, 512<<10)
	if o.SealBytes == 0 {
		o.SealBytes = 64 << 20
	}
	if o.OnMerge == nil {
		o.OnMerge = func([]segment.Input, *segment.Segment, [][]uint32) {}
	}
	if o.OnReplay == nil {
		o.OnReplay = func(int, int) {}
	}
	if o.OnGone == nil {
		o.OnGone = func(*segment.Segment) {}
	}
	return o
}

// Index is the segments of one property. Prepare, Install, Drop and Close are called by the store's writer alone; all other
// methods are safe for concurrent use.
type Index struct {
	o       Options
	current atomic.Pointer[Snapshot]
	// work wakes the background; quit ends it, and done is closed when it has ended.
	work chan struct{}
	ctx  context.Context
	quit context.CancelFunc
	done chan struct{}
	// ended is closed when the index is given up while the store is held.
	ended  chan struct{}
	ending sync.Once
	// merging is held by whoever merges: the background, Erase and Seal.
	merging sync.Mutex
	// room is closed and made anew when memory has been sealed, see Wait.
	roomMu sync.Mutex
	room   chan struct{}

	// pending was prepared last, and not installed yet.
	pending *Prepared

	nextFile uint64 // guarded by merging
	// opening tells the files of this opening of the index from those of another, which may still be read.
	opening uint32
	// unsaved is true when loading made files that no manifest names yet; guarded by merging.
	unsaved  bool
	counters counters
}

// counters are what Stats tells beside the snapshot.
type counters struct {
	seals, merges, memoryMerges, rebuilt atomic.Int64
	docsIn, docsWritten, bytesWritten    atomic.Int64
	problemMu                            sync.Mutex
	problem                              error
}

// Open opens the index of a property: it maps its files, makes those anew that are damaged or lost, and takes in what has
// changed since they were written. The store must not commit meanwhile.
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
	x := &Index{o: o, work: make(chan struct{}, 1), done: make(chan struct{}), ended: make(chan struct{}), room: make(chan struct{}), opening: rand.Uint32()}
	x.ctx, x.quit = context.WithCancel(context.Background())
	if err := x.load(ctx); err != nil {
		x.quit()
		return nil, fmt.Errorf("index of property %s: %w", o.Property, err)
	}
	var ends sync.WaitGroup
	ends.Go(x.background)
	ends.Go(x.scrub)
	go func() {
		defer close(x.done)
		ends.Wait()
	}()
	x.wake()
	return x, nil
}

// Prepared is a batch whose segment is made and that nobody sees yet.
type Prepared struct {
	x    *Index
	next *Snapshot
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
		changes[i] = change{id: c.ID, item: c.Item, existed: c.Existed}
	}
	next, err := x.apply(x.current.Load(), version, version, changes)
	if err != nil {
		return nil, err
	}
	if err := x.setKnown(keys, version); err != nil {
		next.Release()
		return nil, fmt.Errorf("write the journal: %w", err)
	}
	x.pending = &Prepared{x, next}
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
	p.x.wake()
}

// change is an item that comes, changes or goes (nil).
type change struct {
	id      item.ID
	item    *item.Item
	existed bool
}

// apply makes the snapshot of a batch that follows from some changes, the oldest of which may be of the batch since.
func (x *Index) apply(from *Snapshot, version, since uint64, changes []change) (*Snapshot, error) {
	died := make([]*roaring.Bitmap, len(from.parts))
	erased := make([]bool, len(from.parts))
	var docs []*item.Item
	for _, c := range changes {
		if c.existed {
			// The newest version is likely to be in a young segment.
			for i := len(from.parts) - 1; i >= 0; i-- {
				p := from.parts[i]
				doc, ok := p.Segment.Find(c.id)
				if !ok || p.Dead != nil && p.Dead.Contains(doc) {
					continue
				}
				if died[i] == nil {
					died[i] = roaring.New()
				}
				died[i].Add(doc)
				erased[i] = erased[i] || c.item == nil
				break
			}
		}
		if c.item != nil {
			docs = append(docs, c.item)
		}
	}
	next := from.edit(version)
	for i, d := range died {
		if d != nil {
			next.bury(i, d, erased[i])
		}
	}
	if len(docs) > 0 {
		s, err := buildItems(docs)
		if err != nil {
			return nil, err
		}
		x.counters.docsIn.Add(int64(len(docs)))
		next.add(newPart(x, s, "", since), nil)
	}
	return next, nil
}

// parallelFrom is the number of items from which documents are made on all processors.
const parallelFrom = 64

// buildItems makes a segment of items.
func buildItems(items []*item.Item) (*segment.Segment, error) {
	docs := make([]segment.Doc, len(items))
	workers := runtime.GOMAXPROCS(0)
	if len(items) < parallelFrom {
		workers = 1
	}
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < len(items); i += workers {
				docs[i] = segment.NewDoc(items[i])
			}
		})
	}
	all.Wait()
	s, err := segment.Build(docs)
	if err != nil {
		return nil, fmt.Errorf("build a segment: %w", err)
	}
	return s, nil
}

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
		if docs < crowded*x.o.SealDocs && bytes < crowded*x.o.SealBytes || x.counters.failing() != nil {
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

// wake says that there may be work.
func (x *Index) wake() {
	select {
	case x.work <- struct{}{}:
	default:
	}
}

// Close ends the background, seals what is in memory, so that the next start is quick, and closes all files once nobody
// looks at them any more.
func (x *Index) Close() error {
	x.quit()
	<-x.done
	err := x.seal(context.Background())
	if err != nil {
		// The journal has it all.
		x.o.Logger.Warn("what is in memory could not be sealed; the next start reads it from the store", slog.Any("error", err))
	}
	x.publish(emptySnapshot())
	return nil
}

// Abandon ends the index without writing anything: after an error of the store nobody knows what is in it.
// The store is held.
func (x *Index) Abandon() {
	x.end()
	<-x.done
	x.discard()
	x.publish(emptySnapshot())
}

// Drop ends the index of a property that is purged, and removes its files. Its keys go with the batch, by DropKeys.
// The store is held.
func (x *Index) Drop() {
	x.end()
	<-x.done
	for _, p := range x.current.Load().holders {
		p.obsolete.Store(true)
	}
	x.publish(emptySnapshot())
}

// emptySnapshot is what an index shows once it has ended, to those who look on.
func emptySnapshot() *Snapshot {
	s := &Snapshot{}
	s.refs.Store(1)
	return s
}

// end stops all work for good: what waits for the store now will commit nothing.
func (x *Index) end() {
	x.ending.Do(func() { close(x.ended) })
	x.quit()
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
	// Seals, Merges and MemoryMerges count since the index was opened; Rebuilt are files made anew from the store.
	Seals, Merges, MemoryMerges, Rebuilt int64
	// DocsIn are documents that came, DocsWritten those that seals and merges wrote, into files and in memory: their ratio is
	// the write amplification. BytesWritten went into files.
	DocsIn, DocsWritten, BytesWritten int64
	// Problem is why nothing can be sealed or merged, nil when all is well. It is tried again.
	Problem error
}

// Stats describe the index; cheap.
func (x *Index) Stats() Stats {
	c := &x.counters
	out := Stats{
		Seals: c.seals.Load(), Merges: c.merges.Load(), MemoryMerges: c.memoryMerges.Load(), Rebuilt: c.rebuilt.Load(),
		DocsIn: c.docsIn.Load(), DocsWritten: c.docsWritten.Load(), BytesWritten: c.bytesWritten.Load(), Problem: c.failing(),
	}
	s := x.Acquire()
	defer s.Release()
	for i, p := range s.parts {
		out.Docs += int64(p.Segment.Len())
		if p.Dead != nil {
			out.Dead += int64(p.Dead.GetCardinality())
		}
		for f := range p.Segment.Fields() {
			out.DerivedBytes += f.Derived()
		}
		if s.holders[i].file == "" {
			out.MemoryParts++
			out.MemoryBytes += p.Segment.IndexBytes() + p.Segment.ItemBytes()
			continue
		}
		out.Files++
		if p.Segment.Mapped() {
			out.MappedIndex += p.Segment.IndexBytes()
			out.MappedItems += p.Segment.ItemBytes()
		} else {
			out.MemoryBytes += p.Segment.IndexBytes() + p.Segment.ItemBytes()
		}
	}
	return out
}

func (c *counters) failing() error {
	c.problemMu.Lock()
	defer c.problemMu.Unlock()
	return c.problem
}

func (c *counters) setProblem(err error) {
	c.problemMu.Lock()
	defer c.problemMu.Unlock()
	c.problem = err
}
