package index

import (
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
)

// part is a segment of an index. It is open for as long as any snapshot has it.
type part struct {
	x       *Index
	segment *segment.Segment
	// file is its name, "" in memory.
	file string
	// since is the oldest batch that a part in memory holds anything of.
	since uint64
	refs  atomic.Int64
	// sealing is true from when a part in memory is being made a file, unless that fails: it is not to be merged with others.
	sealing atomic.Bool
	// obsolete is set when the file is no longer needed once the last snapshot releases it.
	obsolete atomic.Bool
	// unlinked is set when the file has no name any more.
	unlinked atomic.Bool
}

func newPart(x *Index, s *segment.Segment, file string, since uint64) *part {
	return &part{x: x, segment: s, file: file, since: since}
}

// bytes is the size of the segment.
func (p *part) bytes() int64 { return p.segment.IndexBytes() + p.segment.ItemBytes() }

func (p *part) release() {
	if p.refs.Add(-1) > 0 {
		return
	}
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

// entry is a part as one snapshot has it.
type entry struct {
	*part
	// dead are the part's tombstones, see segment.Part.
	dead *roaring.Bitmap
	// erase is true when documents of deleted items are among the dead: their bytes have to go in time.
	erase bool
}

func (e entry) input() segment.Part { return segment.Part{Segment: e.segment, Dead: e.dead} }

// Snapshot is what a reader sees: the segments as they were at one instant. It never changes.
type Snapshot struct {
	version uint64
	entries []entry // files first, then those in memory
	refs    atomic.Int64
}

func newSnapshot(version uint64) *Snapshot {
	s := &Snapshot{version: version}
	s.refs.Store(1)
	return s
}

// Parts lists the segments: files first, then those in memory.
func (s *Snapshot) Parts() []segment.Part {
	parts := make([]segment.Part, len(s.entries))
	for i, e := range s.entries {
		parts[i] = e.input()
	}
	return parts
}

// Hold takes a further reference to a snapshot of which the caller has one. It has to be released too.
func (s *Snapshot) Hold() { s.refs.Add(1) }

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
	for _, e := range s.entries {
		e.release()
	}
}

// edit returns a copy that can still be changed. The copy holds a reference of its own to every part.
func (s *Snapshot) edit(version uint64) *Snapshot {
	next := newSnapshot(version)
	next.entries = slices.Clone(s.entries)
	for _, e := range next.entries {
		e.refs.Add(1)
	}
	return next
}

// kill adds tombstones to an entry of a snapshot that can still be changed.
func (e *entry) kill(died *roaring.Bitmap) {
	if e.dead != nil {
		// Both are left as they are: Or makes new containers of those that differ, and tombstones are never cloned.
		died.Or(e.dead)
	}
	e.dead = died
}

// add adds a part: a file before those in memory.
func (s *Snapshot) add(p *part, dead *roaring.Bitmap, erase bool) {
	p.refs.Add(1)
	at := len(s.entries)
	if p.file != "" {
		for at > 0 && s.entries[at-1].file == "" {
			at--
		}
	}
	s.entries = slices.Insert(s.entries, at, entry{p, dead, erase})
}

// entry returns the entry of a part, nil when the snapshot does not have it.
func (s *Snapshot) entry(p *part) *entry {
	for i := range s.entries {
		if s.entries[i].part == p {
			return &s.entries[i]
		}
	}
	return nil
}

// remove takes a part away.
func (s *Snapshot) remove(p *part) {
	s.entries = slices.DeleteFunc(s.entries, func(e entry) bool { return e.part == p })
	p.refs.Add(-1) // never the last one: s was made of a snapshot that has it
}

// in lists the entries in memory, or those of files.
func (s *Snapshot) in(where target) []entry {
	var list []entry
	for _, e := range s.entries {
		if (e.file != "") == bool(where) {
			list = append(list, e)
		}
	}
	return list
}

// inMemory counts documents and bytes of the parts in memory.
func (s *Snapshot) inMemory() (docs int, bytes int64) {
	for _, e := range s.in(inMemory) {
		docs += e.segment.Len()
		bytes += e.bytes()
	}
	return docs, bytes
}

// oldestInMemory returns the oldest batch of which anything is in memory alone.
func (s *Snapshot) oldestInMemory() (version uint64, any bool) {
	memory := partsOf(s.in(inMemory))
	return oldest(memory), len(memory) > 0
}

// has reports whether an item lives in the snapshot.
func (s *Snapshot) has(id item.ID) bool {
	return slices.ContainsFunc(s.entries, func(e entry) bool {
		_, ok := e.input().Find(id)
		return ok
	})
}

func partsOf(entries []entry) []*part {
	parts := make([]*part, len(entries))
	for i, e := range entries {
		parts[i] = e.part
	}
	return parts
}
