package segment

import (
	"os"
	"sync"
	"sync/atomic"
)

// Room is the memory in which the kernel can keep the files of open segments. If the files are larger, most pages of items must be read from
// the disk, and what the kernel reads ahead would displace pages that are needed again. The segments then advise the kernel to read only the
// pages of items that are accessed, and Prefetch begins to read the items of a page together.
//
// A Room is safe for concurrent use. A nil Room is large enough for all files.
type Room struct {
	bytes int64
	short atomic.Bool

	mu   sync.Mutex
	open map[*Segment]bool
	used int64
}

// NewRoom returns a room of the given size. It returns nil, which means that the room is large enough, if bytes is 0.
func NewRoom(bytes int64) *Room {
	if bytes == 0 {
		return nil
	}
	return &Room{bytes: bytes, open: map[*Segment]bool{}}
}

// enter adds an open segment to the room.
func (r *Room) enter(s *Segment) {
	if r == nil || s.unmap == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[s] = true
	r.used += int64(len(s.whole))
	if r.short.Load() {
		s.advise(true)
	}
	r.judge()
}

// leave removes a segment from the room.
func (r *Room) leave(s *Segment) {
	if r == nil || s.unmap == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, s)
	r.used -= int64(len(s.whole))
	r.judge()
}

// judge advises the kernel again if the room has become too small or large enough. The caller holds mu.
func (r *Room) judge() {
	short := r.used > r.bytes
	if r.short.Swap(short) == short {
		return
	}
	for s := range r.open {
		s.advise(short)
	}
}

// small reports whether the room of the segment is too small for all files.
func (s *Segment) small() bool { return s.room != nil && s.room.short.Load() }

// advise tells the kernel whether the items are read singly, without the pages around them.
func (s *Segment) advise(singly bool) {
	end := len(magic) + int(s.dir.Items.Off+s.dir.Items.Len)
	readSingly(s.whole[:end-end%os.Getpagesize()], singly)
}

// Prefetch begins to read the item of a document from the disk, if its segment is in a room that is too small. Call it for several documents
// before reading their items, so that the disk reads them at the same time.
func (s *Segment) Prefetch(doc uint32) {
	if !s.small() {
		return
	}
	items := int(s.dir.Items.Off)
	s.readAhead(items+int(s.offsets.at(int(doc))), items+int(s.offsets.at(int(doc)+1)))
}

// readAhead begins to read a range of s.data.
func (s *Segment) readAhead(from, to int) {
	from, to = from+len(magic), to+len(magic)
	from -= from % os.Getpagesize()
	if from >= 0 && from < to && to <= len(s.whole) { // always true, unless the file is damaged
		prefetch(s.whole[from:to])
	}
}
