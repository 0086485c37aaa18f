package index

import (
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// Part is one segment of a snapshot with its dead documents; nil for none. Dead is read-only.
type Part struct {
	Segment *segment.Segment
	Dead    *roaring.Bitmap
}

// part is a segment for as long as any snapshot has it.
type part struct {
	x       *Index
	segment *segment.Segment
	// file is its name, "" in memory.
	file string
	// since is the oldest batch that a part in memory holds anything of.
	since uint64
	// erase is true when documents of deleted items are in it: their bytes have to go in time.
	erase bool
	refs  atomic.Int64
	// sealing is true from when a part in memory is being made a file, unless that fails: it is not to be merged with others.
	sealing atomic.Bool
	// obsolete is set when the file is no longer needed once nobody looks at it.
	obsolete atomic.Bool
	// unlinked is set when the file has no name any more.
	unlinked atomic.Bool
}

func newPart(x *Index, s *segment.Segment, file string, since uint64) *part {
	return &part{x: x, segment: s, file: file, since: since}
}

func (p *part) release() {
	if p.refs.Add(-1) > 0 {
		return
	}
	p.x.o.OnGone(p.segment)
	if err := p.segment.Close(); err != nil {
		p.x.o.Logger.Warn("close a segment", slog.String("file", p.file), slog.Any("error", err))
	}
	if p.obsolete.Load() {
		p.unlink()
	}
}

// unlink removes the name of a file, once. Readers that have the file open or mapped go on reading it.
func (p *part) unlink() {
	if p.file != "" && p.unlinked.CompareAndSwap(false, true) {
		p.x.remove(p.file)
	}
}

// Snapshot is what a reader sees: the segments as they were at one instant. It never changes.
type Snapshot struct {
	version uint64
	parts   []Part
	holders []*part // of parts, in their order
	erase   []bool  // of parts: see part.erase, which holds the newest
	refs    atomic.Int64
}

// Parts are the segments: files first, then those in memory. Read-only.
func (s *Snapshot) Parts() []Part { return s.parts }

// hold takes a reference, and fails when the last one is gone.
func (s *Snapshot) hold() bool {
	for {
		n := s.refs.Load()
		if n == 0 {
			return false
		}
		if s.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release gives a reference back. Nothing of the snapshot may be looked at after.
func (s *Snapshot) Release() {
	if s.refs.Add(-1) > 0 {
		return
	}
	for _, p := range s.holders {
		p.release()
	}
}

// edit returns a copy that can still be changed. It takes its references when it is sealed by done; until then nothing of
// it may outlive s, which the index holds.
func (s *Snapshot) edit(version uint64) *Snapshot {
	next := &Snapshot{version: version, parts: slices.Clone(s.parts), holders: slices.Clone(s.holders), erase: slices.Clone(s.erase)}
	for _, p := range next.holders {
		p.refs.Add(1)
	}
	next.refs.Store(1)
	return next
}

// bury adds dead documents to a part.
func (s *Snapshot) bury(i int, died *roaring.Bitmap) {
	if old := s.parts[i].Dead; old != nil {
		// Both are left as they are: Or makes new containers of those that differ, and dead ones are never cloned.
		died.Or(old)
	}
	s.parts[i].Dead = died
}

// add adds a part: a file before those in memory.
func (s *Snapshot) add(p *part, dead *roaring.Bitmap) {
	p.refs.Add(1)
	at := len(s.parts)
	if p.file != "" {
		for at > 0 && s.holders[at-1].file == "" {
			at--
		}
	}
	s.parts = slices.Insert(s.parts, at, Part{p.segment, dead})
	s.holders = slices.Insert(s.holders, at, p)
	s.erase = slices.Insert(s.erase, at, p.erase)
}

// remove takes a part away.
func (s *Snapshot) remove(p *part) {
	i := slices.Index(s.holders, p)
	s.parts = slices.Delete(s.parts, i, i+1)
	s.holders = slices.Delete(s.holders, i, i+1)
	s.erase = slices.Delete(s.erase, i, i+1)
	p.refs.Add(-1) // never the last one: s was made of a snapshot that has it
}

// inMemory counts documents and bytes of the parts in memory.
func (s *Snapshot) inMemory() (docs int, bytes int64) {
	for i, p := range s.parts {
		if s.holders[i].file == "" {
			docs += p.Segment.Len()
			bytes += p.Segment.IndexBytes() + p.Segment.ItemBytes()
		}
	}
	return docs, bytes
}

// oldestInMemory returns the oldest batch of which anything is in memory alone.
func (s *Snapshot) oldestInMemory() (version uint64, any bool) {
	for _, p := range s.holders {
		if p.file == "" && (!any || p.since < version) {
			version, any = p.since, true
		}
	}
	return version, any
}

// anyDead reports whether any document is dead.
func (s *Snapshot) anyDead() bool {
	return slices.ContainsFunc(s.parts, func(p Part) bool { return p.Dead != nil })
}

// dead counts the dead documents of a part.
func (p Part) dead() int {
	if p.Dead == nil {
		return 0
	}
	return int(p.Dead.GetCardinality())
}

// kept lists the parts that are in memory, or in files.
func (s *Snapshot) kept(where target) []*part {
	var parts []*part
	for _, p := range s.holders {
		if (p.file != "") == bool(where) {
			parts = append(parts, p)
		}
	}
	return parts
}
