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

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/store"
)

// target is the place for the result of a merge: memory or a file.
type target bool

const (
	inMemory target = false
	toFile   target = true
)

// policy returns the current merge policy.
func (x *Index) policy() policy {
	return policy{
		sealDocs: x.o.SealDocs, sealBytes: x.o.SealBytes, memoryParts: x.o.MemoryParts, fanIn: x.o.FanIn, maxDocs: x.o.MaxDocs,
		burst: x.pace.burst(), quiet: x.pace.quiet(),
	}
}

// chosen passes the sizes of the entries to choose, and returns the parts of the entries that choose selects.
func chosen(entries []entry, choose func([]size) []int) []*part {
	sizes := make([]size, len(entries))
	for i, e := range entries {
		sizes[i] = size{docs: e.segment.Len(), live: e.input().Live(), bytes: e.bytes()}
	}
	var parts []*part
	for _, i := range choose(sizes) {
		parts = append(parts, entries[i].part)
	}
	return parts
}

// mergeMemory merges segments in memory if the policy requires a merge. It leaves out segments that are being sealed.
func (x *Index) mergeMemory(ctx context.Context) (more bool, err error) {
	s := x.Acquire()
	parts := chosen(slices.DeleteFunc(s.in(inMemory), func(e entry) bool { return e.sealing.Load() }), x.policy().memory)
	s.Release()
	if len(parts) == 0 {
		return false, nil
	}
	return true, x.mergeParts(ctx, parts, inMemory, x.o.Store)
}

// mergeFiles merges files if the policy requires a merge, and rebuilds damaged files.
func (x *Index) mergeFiles(ctx context.Context) (more bool, err error) {
	s := x.Acquire()
	parts := chosen(s.in(toFile), x.policy().files)
	s.Release()
	if len(parts) == 0 {
		return false, nil
	}
	return true, x.mergeOrRestore(ctx, parts)
}

// mergeOrRestore merges files into one file. If one of the files is damaged, it rebuilds that file instead. The caller holds the task
// `files`.
func (x *Index) mergeOrRestore(ctx context.Context, parts []*part) error {
	err := x.mergeParts(ctx, parts, toFile, x.o.Store)
	if damaged := (*damagedError)(nil); errors.As(err, &damaged) {
		return x.restore(ctx, damaged.part, err)
	}
	return err
}

// mergeParts replaces parts with one merged segment. Readers and the writer can continue during the merge, because mergeParts holds the
// store only for the swap. through is the store. While the index is being loaded, through is nil: mergeParts then writes nothing to the
// store, and there is no other writer. The caller holds the task that works on these parts, so that no other merge takes them.
func (x *Index) mergeParts(ctx context.Context, parts []*part, to target, through *store.Store) error {
	covered := coverage{}
	if to == toFile && !slices.ContainsFunc(parts, func(p *part) bool { return p.file != "" }) {
		covered.journaled = x.journaled.Load()
	}
	before := x.Acquire()
	defer before.Release()
	covered.through = before.version
	m := &replacement{parts: parts}
	for _, p := range parts {
		e := before.entry(p)
		if e == nil {
			return errors.New("a segment to merge no longer exists")
		}
		m.inputs = append(m.inputs, e.input())
	}
	for _, p := range parts {
		// Copying damaged bytes under a new checksum would hide the damage.
		if err := p.verify(ctx, nil); err != nil {
			return err
		}
	}
	var err error
	if m.merged, m.maps, err = x.merge(ctx, m.inputs, to); err != nil {
		return err
	}
	if m.merged != nil {
		m.merged.refs.Add(1)
		defer m.merged.release()
		m.merged.since = oldest(parts)
		x.o.OnMerge(m.inputs, m.merged.segment, m.maps)
	}
	swap := func() *Snapshot { return m.in(x.current.Load()) }
	if through == nil {
		x.publish(swap())
	} else if err := x.commit(through, to, covered, swap); err != nil {
		if m.merged != nil {
			m.merged.obsolete.Store(!errors.Is(err, errUncertain))
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

// replacement is a merged part and the parts that it replaces.
type replacement struct {
	parts []*part
	// inputs are the parts with the tombstones that they had when the merge began. maps is the result of segment.Merge.
	inputs []segment.Part
	maps   [][]uint32
	merged *part // nil if the inputs have no live document
}

// in returns a copy of a snapshot in which the merged part replaces its inputs. Documents that were deleted during the merge are also
// dead in the merged part.
func (m *replacement) in(s *Snapshot) *Snapshot {
	next := s.edit(s.version)
	var dead *roaring.Bitmap
	erase := false
	for i, p := range m.parts {
		e := next.entry(p)
		if e.dead != m.inputs[i].Dead {
			carryOver(&dead, e.dead, m.inputs[i], m.maps[i])
			erase = erase || e.erase
		}
		next.remove(p)
	}
	if m.merged != nil {
		next.add(m.merged, dead, erase)
	}
	return next
}

// carryOver adds to dead the documents of an input that were deleted after the merge began, with the numbers that they have in the merged
// segment.
func carryOver(dead **roaring.Bitmap, now *roaring.Bitmap, input segment.Part, to []uint32) {
	for it := now.Iterator(); it.HasNext(); {
		if doc := it.Next(); input.Lives(doc) && to[doc] != segment.Gone {
			*dead = with(*dead, to[doc])
		}
	}
}

// with adds a document to a set. The set may be nil.
func with(set *roaring.Bitmap, doc uint32) *roaring.Bitmap {
	if set == nil {
		set = roaring.New()
	}
	set.Add(doc)
	return set
}

// oldest returns the oldest batch from which any of the parts can contain data.
func oldest(parts []*part) uint64 {
	if len(parts) == 0 {
		return 0
	}
	return slices.MinFunc(parts, func(a, b *part) int { return cmp.Compare(a.since, b.since) }).since
}

// merge creates one segment with the live documents of all inputs. It returns a nil part if there are no live documents.
func (x *Index) merge(ctx context.Context, inputs []segment.Part, to target) (*part, [][]uint32, error) {
	live := 0
	for _, in := range inputs {
		live += in.Live()
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
	s.Populate()
	if len(inputs) > 0 && inputs[0].Segment.Mapped() {
		x.counters.merges.Add(1)
	} else {
		x.counters.seals.Add(1)
	}
	x.o.Logger.Debug("segment written", slog.String("file", file), slog.Int("of", len(inputs)), slog.Int("documents", s.Len()),
		slog.Duration("took", time.Since(began).Round(time.Millisecond)))
	return newPart(x, s, file, 0), maps, nil
}
