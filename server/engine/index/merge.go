package index

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/store"
)

// retryAfter is how long the background waits after a failure.
const retryAfter = 2 * time.Second

// background merges and seals until the index ends.
func (x *Index) background() {
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-x.work:
		}
		err := x.tidy(x.ctx)
		if err == nil || x.ctx.Err() != nil {
			x.counters.setProblem(nil)
			continue
		}
		x.counters.setProblem(err)
		x.o.Logger.Warn("the index cannot be tidied up; it grows in memory until it can", slog.Any("error", err))
		timer := time.NewTimer(retryAfter)
		select {
		case <-x.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			x.wake()
		}
	}
}

// tidy does one piece of work after the other until none is left.
func (x *Index) tidy(ctx context.Context) error {
	x.merging.Lock()
	defer x.merging.Unlock()
	if x.unsaved {
		if err := x.sealAll(ctx); err != nil {
			return err
		}
		x.unsaved = false
	}
	for ctx.Err() == nil {
		s := x.Acquire()
		inputs, target := x.next(s)
		s.Release()
		if len(inputs) == 0 {
			return nil
		}
		if err := x.mergeSound(ctx, inputs, target); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// mergeSound is mergeParts once all files among the parts are found to be sound: what is damaged must not become a sound
// file by being copied.
func (x *Index) mergeSound(ctx context.Context, parts []*part, to target) error {
	for _, p := range parts {
		if !x.lives(p) {
			continue // nothing of it is copied
		}
		err := p.segment.Verify(ctx, nil)
		if errors.As(err, new(*segment.CorruptError)) {
			return x.remake(ctx, p, err)
		}
		if err != nil {
			return err
		}
	}
	return x.mergeParts(ctx, parts, to, x.o.Store)
}

// target is where a merge goes.
type target bool

const (
	inMemory target = false
	toFile   target = true
)

// next chooses what to merge; nothing when all is in order. What it chooses stays in place as long as merging is held,
// dead documents aside.
func (x *Index) next(s *Snapshot) ([]*part, target) {
	var memory, files []*part
	docs, bytes := s.inMemory()
	for _, p := range s.holders {
		if p.file == "" {
			memory = append(memory, p)
		} else {
			files = append(files, p)
		}
	}
	if docs >= x.o.SealDocs || bytes >= x.o.SealBytes {
		return memory, toFile
	}
	if len(memory) > x.o.MemoryParts {
		return x.smallest(memory), inMemory
	}
	live := func(p *part) int { return p.segment.Len() - s.parts[slices.Index(s.holders, p)].dead() }
	for _, p := range files {
		// One that is mostly dead costs more than it is worth.
		if dead := p.segment.Len() - live(p); dead*2 > p.segment.Len() {
			return []*part{p}, toFile
		}
	}
	return x.tier(files, live), toFile
}

// smallest chooses the small ones among segments in memory: each that is no larger than all smaller ones together, and so
// many at least that there is room again.
func (x *Index) smallest(parts []*part) []*part {
	sorted := slices.SortedFunc(slices.Values(parts), func(a, b *part) int { return cmp.Compare(a.segment.Len(), b.segment.Len()) })
	n, sum := 0, 0
	for n < len(sorted) && (n < max(2, x.o.MemoryParts/2) || sorted[n].segment.Len() <= sum) {
		sum += sorted[n].segment.Len()
		n++
	}
	return sorted[:n]
}

// tier chooses FanIn files of about one size, the smallest first.
func (x *Index) tier(files []*part, live func(*part) int) []*part {
	tiers := map[int][]*part{}
	for _, p := range files {
		n := live(p)
		if n*2 > x.o.MaxDocs {
			continue
		}
		tier := 0
		for size := x.o.SealDocs * 2; n > size; size *= x.o.FanIn {
			tier++
		}
		tiers[tier] = append(tiers[tier], p)
		if full := tiers[tier]; len(full) == x.o.FanIn {
			return full
		}
	}
	return nil
}

// mergeParts makes one segment of some parts and puts it in their place. It reads while everybody else goes on, and holds
// the store only for the swap. Without a store nothing is written there: the index is being loaded, and nobody else writes.
func (x *Index) mergeParts(ctx context.Context, parts []*part, to target, through *store.Store) error {
	before := x.Acquire()
	defer before.Release()
	inputs := make([]segment.Input, len(parts))
	for i, p := range parts {
		at := slices.Index(before.holders, p)
		if at < 0 {
			return errors.New("a part to merge is gone")
		}
		inputs[i] = segment.Input{Segment: p.segment, Dead: before.parts[at].Dead}
	}
	merged, maps, err := x.merge(ctx, inputs, to)
	if err != nil {
		return err
	}
	if merged != nil {
		merged.since = oldest(parts)
	}
	if merged != nil {
		x.o.OnMerge(inputs, merged.segment, maps)
	}
	swap := func() *Snapshot {
		next := x.current.Load().edit(x.current.Load().version)
		var dead *roaring.Bitmap
		erase := false
		for i, p := range parts {
			at := slices.Index(next.holders, p)
			died := next.parts[at].Dead
			if died != inputs[i].Dead {
				// They died while this was under way.
				carryOver(&dead, died, inputs[i].Dead, maps[i])
				erase = erase || next.erase[at]
			}
			next.remove(p)
		}
		if merged != nil {
			merged.erase = erase
			next.add(merged, dead)
		}
		return next
	}
	if through == nil {
		x.publish(swap())
	} else {
		err = x.commit(through, to == toFile, before.version, swap)
	}
	if err != nil {
		if merged != nil {
			merged.refs.Add(1)
			merged.obsolete.Store(true)
			merged.release()
		}
		return err
	}
	for _, p := range parts {
		p.obsolete.Store(true)
	}
	if to == toFile {
		x.madeRoom()
	}
	return nil
}

// errEnded is why an index that was given up commits nothing more.
var errEnded = errors.New("the index has ended")

// commit makes a swap durable and visible. covered is the batch up to which what was in memory is in files now, if nothing
// is left in memory from before. It waits for the store, but not for one whose holder waits for the index to end.
func (x *Index) commit(through *store.Store, files bool, covered uint64, swap func() *Snapshot) error {
	var swapped atomic.Bool
	alive := func() error {
		select {
		case <-x.ended:
			return errEnded
		default:
			swapped.Store(true)
			return nil
		}
	}
	done := make(chan error, 1)
	go func() { done <- x.commitHeld(through, files, covered, alive, swap) }()
	select {
	case err := <-done:
		return err
	case <-x.ended:
		// Whoever ends the index holds the store: by now alive has said yes, or never will.
		if swapped.Load() {
			return <-done
		}
		return errEnded
	}
}

// commitHeld is commit once the store is held, if the index is still alive then.
func (x *Index) commitHeld(through *store.Store, files bool, covered uint64, alive func() error, swap func() *Snapshot) error {
	if !files {
		return through.Hold(func() error {
			if err := alive(); err != nil {
				return err
			}
			x.publish(swap())
			return nil
		})
	}
	var next *Snapshot
	err := through.CommitIndex(func(keys *store.IndexBatch) (func(), error) {
		if err := alive(); err != nil {
			return nil, err
		}
		next = swap()
		if oldest, any := next.oldestInMemory(); any {
			covered = min(covered, oldest-1)
		}
		if err := x.writeManifest(keys, next, covered); err != nil {
			return nil, err
		}
		return func() { x.publish(next) }, nil
	})
	if err != nil && next != nil {
		next.Release()
	}
	return err
}

// lives reports whether anything of a part is alive.
func (x *Index) lives(p *part) bool {
	s := x.Acquire()
	defer s.Release()
	at := slices.Index(s.holders, p)
	return at >= 0 && s.parts[at].dead() < p.segment.Len()
}

// oldest returns the oldest batch of which anything is in the parts.
func oldest(parts []*part) uint64 {
	if len(parts) == 0 {
		return 0
	}
	return slices.MinFunc(parts, func(a, b *part) int { return cmp.Compare(a.since, b.since) }).since
}

// carryOver adds to dead what died of an input since before, under its new numbers.
func carryOver(dead **roaring.Bitmap, now, before *roaring.Bitmap, to []uint32) {
	for it := now.Iterator(); it.HasNext(); {
		d := it.Next()
		if before != nil && before.Contains(d) || to[d] == segment.Gone {
			continue
		}
		if *dead == nil {
			*dead = roaring.New()
		}
		(*dead).Add(to[d])
	}
}

// merge makes one segment of the living documents of all inputs; nil when there are none.
func (x *Index) merge(ctx context.Context, inputs []segment.Input, to target) (*part, [][]uint32, error) {
	live := 0
	for _, in := range inputs {
		live += in.Segment.Len() - Part(in).dead()
	}
	if live == 0 {
		maps := make([][]uint32, len(inputs))
		for i, in := range inputs {
			maps[i] = slices.Repeat([]uint32{segment.Gone}, in.Segment.Len())
		}
		return nil, maps, nil
	}
	x.counters.docsWritten.Add(int64(live))
	if to == inMemory {
		s, maps, err := segment.MergeInMemory(inputs)
		if err != nil {
			return nil, nil, fmt.Errorf("merge in memory: %w", err)
		}
		x.counters.memoryMerges.Add(1)
		return newPart(x, s, "", 0), maps, nil
	}
	began := time.Now()
	file := fmt.Sprintf("%016x-%08x%s", x.nextFile, x.opening, extension)
	x.nextFile++
	maps, err := x.write(ctx, file, inputs)
	if err != nil {
		return nil, nil, fmt.Errorf("write segment %s: %w", file, err)
	}
	s, err := x.openFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("open the new segment: %w", err)
	}
	if len(inputs) > 0 && inputs[0].Segment.Mapped() {
		x.counters.merges.Add(1)
	} else {
		x.counters.seals.Add(1)
	}
	x.counters.bytesWritten.Add(s.IndexBytes() + s.ItemBytes())
	x.o.Logger.Debug("segment written", slog.String("file", file), slog.Int("of", len(inputs)), slog.Int("documents", s.Len()),
		slog.Duration("took", time.Since(began).Round(time.Millisecond)))
	return newPart(x, s, file, 0), maps, nil
}

// write writes a merged file, which is there under its name only when it is whole and durable.
func (x *Index) write(ctx context.Context, file string, inputs []segment.Input) (maps [][]uint32, err error) {
	fs, path := x.o.FS, x.path(file)
	f, err := fs.Create(path+temporary, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriterSize(&cancelled{ctx, f}, 1<<20)
	maps, err = segment.Merge(inputs, w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		if err = fs.Rename(path+temporary, path); err == nil {
			err = syncDir(fs, x.o.Dir)
		}
	}
	if err != nil {
		// What is left of it goes when the index is opened next.
		_ = fs.Remove(path + temporary)
		return nil, err
	}
	return maps, nil
}

// syncDir makes the names in a directory durable.
func syncDir(fs vfs.FS, name string) error {
	dir, err := fs.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// cancelled is a file that takes nothing once its context has ended.
type cancelled struct {
	ctx  context.Context
	file vfs.File
}

// Write implements io.Writer.
func (c *cancelled) Write(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.file.Write(b)
}

// seal makes a file of everything in memory.
func (x *Index) seal(ctx context.Context) error {
	x.merging.Lock()
	defer x.merging.Unlock()
	return x.sealAll(ctx)
}

// sealAll is seal for who holds merging.
func (x *Index) sealAll(ctx context.Context) error {
	s := x.Acquire()
	var memory []*part
	for _, p := range s.holders {
		if p.file == "" {
			memory = append(memory, p)
		}
	}
	changed := x.unsaved || len(memory) > 0 || s.anyDead()
	s.Release()
	if !changed {
		return nil
	}
	return x.mergeParts(ctx, memory, toFile, x.o.Store)
}

// Seal makes a file of everything in memory and brings the manifest up to date.
func (x *Index) Seal(ctx context.Context) error { return x.seal(ctx) }

// Erase rewrites every segment in which documents of deleted items are, so that their bytes are in none.
func (x *Index) Erase(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(x.ctx, cancel)()
	x.merging.Lock()
	defer x.merging.Unlock()
	s := x.Acquire()
	var files, memory []*part
	for i, p := range s.holders {
		switch {
		case !s.erase[i]:
		case p.file == "":
			memory = append(memory, p)
		default:
			files = append(files, p)
		}
	}
	s.Release()
	if len(memory) > 0 {
		if err := x.mergeParts(ctx, memory, inMemory, x.o.Store); err != nil {
			return fmt.Errorf("erase: %w", err)
		}
	}
	for _, p := range files {
		if err := x.mergeSound(ctx, []*part{p}, toFile); err != nil {
			return fmt.Errorf("erase: %w", err)
		}
	}
	return nil
}
