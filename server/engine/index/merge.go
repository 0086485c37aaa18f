package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/store"
)

// target is where a merge goes.
type target bool

const (
	inMemory target = false
	toFile   target = true
)

// tidyMemory merges small segments in memory until they are few. Those that are being sealed are left alone, and those that
// are a good part of what is sealed together: to merge them before would be to write them twice.
func (x *Index) tidyMemory(ctx context.Context) error {
	for ctx.Err() == nil {
		s := x.Acquire()
		memory := slices.DeleteFunc(s.kept(inMemory), func(p *part) bool { return p.sealing.Load() || x.large(p) })
		s.Release()
		if len(memory) <= x.o.MemoryParts {
			return nil
		}
		if err := x.mergeParts(ctx, x.smallest(memory), inMemory, x.o.Store); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// large reports whether a part in memory waits for being sealed as it is.
func (x *Index) large(p *part) bool {
	share := 2 * x.o.MemoryParts
	if x.rush.on() {
		share *= rushed
	}
	return p.segment.Len()*share >= x.o.SealDocs || (p.segment.IndexBytes()+p.segment.ItemBytes())*int64(share) >= x.o.SealBytes
}

// rushed is how many times as many files, and as many segments in memory, there may be in a rush.
const rushed = 4

// tidySeals seals what is in memory when it is much.
func (x *Index) tidySeals(ctx context.Context) error {
	for ctx.Err() == nil {
		s := x.Acquire()
		docs, bytes := s.inMemory()
		s.Release()
		if !x.unsaved.Load() && !x.due(docs, bytes) {
			return nil
		}
		if err := x.sealAll(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// due reports whether what is in memory, or the journal, is so much that a restart would take long.
func (x *Index) due(docs int, bytes int64) bool {
	return docs >= x.o.SealDocs || bytes >= x.o.SealBytes || x.journaled.Load() >= journalFactor*int64(x.o.SealDocs)
}

// journalFactor is how many changes, as a multiple of SealDocs, the journal may hold: deletions, and changes of the same
// few items, leave little in memory.
const journalFactor = 4

// tidyFiles merges files until all is in order, and makes those anew that are damaged.
func (x *Index) tidyFiles(ctx context.Context) error {
	for ctx.Err() == nil {
		s := x.Acquire()
		inputs := x.next(s)
		s.Release()
		if len(inputs) == 0 {
			return nil
		}
		if err := x.mergeFiles(ctx, inputs); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// mergeFiles merges files into one, or makes anew the one of them that is found to be damaged.
func (x *Index) mergeFiles(ctx context.Context, inputs []*part) error {
	err := x.mergeParts(ctx, inputs, toFile, x.o.Store)
	if damaged := (*damagedError)(nil); errors.As(err, &damaged) {
		return x.restore(ctx, damaged.part, err)
	}
	return err
}

// next chooses files to merge; none when all is in order. What it chooses stays in place as long as files are held, dead
// documents aside.
func (x *Index) next(s *Snapshot) []*part {
	files := s.kept(toFile)
	live := func(p *part) int { return p.segment.Len() - s.parts[slices.Index(s.holders, p)].dead() }
	for _, p := range files {
		// One that is mostly dead costs more than it is worth.
		if dead := p.segment.Len() - live(p); dead*2 > p.segment.Len() {
			return []*part{p}
		}
	}
	return x.tier(files, live)
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

// tier chooses files of about one size, the smallest first: FanIn of them, or all there are when merging has fallen behind or
// was put off, as many as make a file that is large enough. So it catches up by merging each item less often.
func (x *Index) tier(files []*part, live func(*part) int) []*part {
	var tiers [][]*part
	for _, p := range files {
		n := live(p)
		if n*2 > x.o.MaxDocs {
			continue
		}
		tier := 0
		for size := x.o.SealDocs * 2; n > size; size *= x.o.FanIn {
			tier++
		}
		for len(tiers) <= tier {
			tiers = append(tiers, nil)
		}
		tiers[tier] = append(tiers[tier], p)
	}
	enough := x.o.FanIn
	if x.rush.on() {
		enough *= rushed
	}
	for _, same := range tiers {
		if len(same) < enough {
			continue
		}
		docs, n := 0, 0
		for n < len(same) && (n < x.o.FanIn || docs+live(same[n]) <= x.o.MaxDocs) {
			docs += live(same[n])
			n++
		}
		return same[:n]
	}
	return nil
}

// mergeParts makes one segment of some parts and puts it in their place. It reads while everybody else goes on, and holds
// the store only for the swap. Without a store nothing is written there: the index is being loaded, and nobody else writes.
func (x *Index) mergeParts(ctx context.Context, parts []*part, to target, through *store.Store) error {
	covered := coverage{}
	if to == toFile && !slices.ContainsFunc(parts, func(p *part) bool { return p.file != "" }) {
		covered.journaled = x.journaled.Load()
	}
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
	covered.through = before.version
	for _, p := range parts {
		// Damaged bytes must not be copied under a checksum that says that they are sound.
		if err := p.verify(ctx, nil); err != nil {
			return err
		}
	}
	merged, maps, err := x.merge(ctx, inputs, to)
	if err != nil {
		return err
	}
	if merged != nil {
		merged.refs.Add(1)
		defer merged.release()
		merged.since = oldest(parts)
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
		err = x.commit(through, to, covered, swap)
	}
	if err != nil {
		if merged != nil {
			merged.obsolete.Store(!errors.Is(err, errUncertain))
		}
		return err
	}
	for _, p := range parts {
		p.obsolete.Store(true)
	}
	if to == toFile {
		x.madeRoom()
		x.files.wake()
	}
	return nil
}

// coverage is what a swap puts into files of what was in memory.
type coverage struct {
	// through is the batch up to which everything is in files, if nothing is left in memory from before.
	through uint64
	// journaled is about how many keys of the journal go with it.
	journaled int64
}

// errUncertain says that nobody knows whether a manifest was written: the files that it may name must stay. The store is
// opened anew after that, and the index with it.
var errUncertain = errors.New("it is not known whether the manifest was written")

// commit makes a swap durable and visible.
func (x *Index) commit(through *store.Store, to target, covered coverage, swap func() *Snapshot) error {
	if to == inMemory {
		return through.Hold(func() error {
			if x.ended.Load() {
				return errEnded
			}
			x.publish(swap())
			return nil
		})
	}
	var next *Snapshot
	written := false
	err := through.CommitIndex(func(keys *store.IndexBatch) (func(), error) {
		if x.ended.Load() {
			return nil, errEnded
		}
		next = swap()
		upTo := covered.through
		oldest, any := next.oldestInMemory()
		if any {
			upTo = min(upTo, oldest-1)
		}
		whole := !any || oldest > x.loaded
		if x.unsaved.Load() && !whole {
			upTo = 0 // what was lost is not whole again: who opens the index next has to look for it too
		}
		if err := x.writeManifest(keys, next, upTo); err != nil {
			return nil, err
		}
		written = true
		return func() {
			x.publish(next)
			if whole {
				x.unsaved.Store(false)
			}
			x.journaled.Add(-covered.journaled)
		}, nil
	})
	if err != nil && next != nil {
		next.Release()
	}
	if err != nil && written {
		return fmt.Errorf("%w: %w", errUncertain, err)
	}
	return err
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
	file := x.newFile()
	maps, err := x.write(ctx, file, inputs)
	if err != nil {
		return nil, nil, fmt.Errorf("write segment %s: %w", file, err)
	}
	s, err := x.openFile(file)
	if err != nil {
		x.remove(file)
		return nil, nil, fmt.Errorf("open the new segment: %w", err)
	}
	if len(inputs) > 0 && inputs[0].Segment.Mapped() {
		x.counters.merges.Add(1)
	} else {
		x.counters.seals.Add(1)
	}
	x.o.Logger.Debug("segment written", slog.String("file", file), slog.Int("of", len(inputs)), slog.Int("documents", s.Len()),
		slog.Duration("took", time.Since(began).Round(time.Millisecond)))
	return newPart(x, s, file, 0), maps, nil
}

// syncEvery is how many bytes of a file that is being written wait in memory at most.
const syncEvery = 1 << 20

// newFile returns a name that no file had.
func (x *Index) newFile() string {
	return fmt.Sprintf("%016x-%08x%s", x.nextFile.Add(1), x.opening, extension)
}

// write writes a merged file, which is there under its name only when it is whole and durable.
func (x *Index) write(ctx context.Context, file string, inputs []segment.Input) (maps [][]uint32, err error) {
	fs, path := x.o.FS, x.path(file)
	f, err := fs.Create(path+temporary, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	// Written out as it goes: one large fsync would keep the store's log waiting.
	f = vfs.NewSyncingFile(f, vfs.SyncingFileOptions{NoSyncOnClose: true, BytesPerSync: syncEvery})
	maps, err = segment.Merge(inputs, &cancelled{ctx, f})
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		if err = fs.Rename(path+temporary, path); err == nil {
			err = syncDir(fs, x.o.Dir)
		}
	}
	if err != nil {
		x.remove(file + temporary)
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
	return x.seals.with(ctx, func() error { return x.sealAll(ctx) })
}

// sealAll is seal for who holds the seals. What comes meanwhile can be merged in memory.
func (x *Index) sealAll(ctx context.Context) error {
	var memory []*part
	changed := false
	err := x.memory.with(ctx, func() error {
		s := x.Acquire()
		defer s.Release()
		memory = s.kept(inMemory)
		changed = x.unsaved.Load() || len(memory) > 0 || x.journaled.Load() > 0 || s.anyDead()
		for _, p := range memory {
			p.sealing.Store(true)
		}
		return nil
	})
	if err != nil || !changed {
		return err
	}
	err = x.mergeParts(ctx, memory, toFile, x.o.Store)
	if err != nil {
		for _, p := range memory {
			p.sealing.Store(false)
		}
		x.memory.wake()
	}
	return err
}

// Seal makes a file of everything in memory and brings the manifest up to date.
func (x *Index) Seal(ctx context.Context) error { return x.seal(ctx) }

// Erase rewrites every segment in which documents of deleted items are, so that their bytes are in none.
func (x *Index) Erase(ctx context.Context) error {
	err := x.seals.with(ctx, func() error {
		return x.memory.with(ctx, func() error {
			if parts := x.toErase(inMemory); len(parts) > 0 {
				return x.mergeParts(ctx, parts, inMemory, x.o.Store)
			}
			return nil
		})
	})
	if err == nil {
		err = x.files.with(ctx, func() error {
			for _, p := range x.toErase(toFile) {
				if err := x.mergeFiles(ctx, []*part{p}); err != nil {
					return err
				}
				p.unlink()
			}
			return nil
		})
	}
	if err == nil {
		err = x.leftovers.remove(x)
	}
	if err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	return nil
}

// toErase lists the parts in which documents of deleted items are.
func (x *Index) toErase(where target) []*part {
	s := x.Acquire()
	defer s.Release()
	return slices.DeleteFunc(s.kept(where), func(p *part) bool { return !s.erase[slices.Index(s.holders, p)] })
}
