package index

import (
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
)

// part is a segment of an index. It stays open as long as a snapshot contains it.
type part struct {
	x       *Index
	segment *segment.Segment
	// file is the name of the file. It is empty for a segment in memory.
	file string
	// since is the oldest batch whose changes the part can contain. The index uses it only for parts in memory.
	since uint64
	refs  atomic.Int64
	// sealing is true while a part in memory is being sealed, so that no merge in memory takes the part. It becomes false only if sealing
	// fails.
	sealing atomic.Bool
	// obsolete is true if the file must be removed when the last snapshot releases the part.
	obsolete atomic.Bool
	// unlinked is true after the name of the file has been removed.
	unlinked atomic.Bool
}

func newPart(x *Index, s *segment.Segment, file string, since uint64) *part {
	return &part{x: x, segment: s, file: file, since: since}
}

func (p *part) bytes() int64 { return p.segment.IndexBytes() + p.segment.ItemBytes() }

func (p *part) release() {
	if p.refs.Add(-1) > 0 {
		return
	}
	if err := p.segment.Close(); err != nil {
		p.x.o.Logger.Warn("cannot close a segment", slog.String("file", p.file), slog.Any("error", err))
	}
	if p.obsolete.Load() {
		p.unlink()
	}
}

// unlink removes the name of a file. Only the first call has an effect. Readers that have the file open or mapped can still read it.
func (p *part) unlink() {
	if p.file != "" && p.unlinked.CompareAndSwap(false, true) {
		p.x.remove(p.file)
	}
}

// entry is a part in one snapshot.
type entry struct {
	*part
	// dead holds the part's tombstones. See segment.Part.
	dead *roaring.Bitmap
	// erase is true if the part may contain bytes of deleted items or submissions. Erase must remove these bytes.
	erase bool
}

func (e entry) input() segment.Part { return segment.Part{Segment: e.segment, Dead: e.dead} }

// Snapshot holds the segments at one point in time, with their tombstones. It is immutable.
type Snapshot struct {
	version uint64
	entries []entry // files come first, then segments in memory
	refs    atomic.Int64
}

func newSnapshot(version uint64) *Snapshot {
	s := &Snapshot{version: version}
	s.refs.Store(1)
	return s
}

// Parts lists the segments. Files come first, then segments in memory.
func (s *Snapshot) Parts() []segment.Part {
	parts := make([]segment.Part, len(s.entries))
	for i, e := range s.entries {
		parts[i] = e.input()
	}
	return parts
}

// Hold takes another reference. The caller must already have a reference, and must release both references.
func (s *Snapshot) Hold() { s.refs.Add(1) }

// hold takes a reference. It returns false if the last reference has already been released.
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

// Release releases a reference. The caller must not use the snapshot after that.
func (s *Snapshot) Release() {
	if s.refs.Add(-1) > 0 {
		return
	}
	for _, e := range s.entries {
		e.release()
	}
}

// edit returns a mutable copy, which holds its own reference to every part.
func (s *Snapshot) edit(version uint64) *Snapshot {
	next := newSnapshot(version)
	next.entries = slices.Clone(s.entries)
	for _, e := range next.entries {
		e.refs.Add(1)
	}
	return next
}

// kill adds tombstones to an entry of a mutable snapshot. It takes ownership of died.
func (e *entry) kill(died *roaring.Bitmap) {
	if e.dead != nil {
		// Readers use e.dead, so it must not change. died.Or copies the containers of e.dead, because it shares only containers of bitmaps that
		// were cloned, and bitmaps of tombstones never are.
		died.Or(e.dead)
	}
	e.dead = died
}

// add adds a part to a mutable snapshot. Files come before parts in memory.
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

// entry returns the entry of a part, or nil if the snapshot does not contain it.
func (s *Snapshot) entry(p *part) *entry {
	for i := range s.entries {
		if s.entries[i].part == p {
			return &s.entries[i]
		}
	}
	return nil
}

// remove removes a part from a mutable snapshot.
func (s *Snapshot) remove(p *part) {
	s.entries = slices.DeleteFunc(s.entries, func(e entry) bool { return e.part == p })
	p.refs.Add(-1) // not the last reference, because s is a copy of a snapshot that contains the part
}

// in lists the entries of a target: those in memory, or those with files.
func (s *Snapshot) in(where target) []entry {
	var list []entry
	for _, e := range s.entries {
		if (e.file != "") == bool(where) {
			list = append(list, e)
		}
	}
	return list
}

// inMemory returns the numbers of documents and bytes of the parts in memory.
func (s *Snapshot) inMemory() (docs int, bytes int64) {
	for _, e := range s.in(inMemory) {
		docs += e.segment.Len()
		bytes += e.bytes()
	}
	return docs, bytes
}

// oldestInMemory returns the oldest batch with data that is only in memory. It returns false if all data is in files.
func (s *Snapshot) oldestInMemory() (version uint64, any bool) {
	memory := partsOf(s.in(inMemory))
	return oldest(memory), len(memory) > 0
}

// has reports whether an item has a live document in the snapshot.
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
