package segment

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"sync"
	"sync/atomic"
)

// Open maps a file and checks everything except the items, which Verify checks. The segment is in the given room until it is closed; see
// Room. Open returns a *CorruptError if the file is damaged or has another format.
func Open(path string, room *Room) (*Segment, error) {
	whole, unmap, err := mapFile(path)
	if err != nil {
		return nil, fmt.Errorf("open segment %s: %w", path, err)
	}
	s, err := parse(whole)
	if err != nil {
		if corrupt, ok := errors.AsType[*CorruptError](err); ok {
			corrupt.Path = path
		}
		_ = unmap() // return the error of parse, not that of unmap
		return nil, err
	}
	s.path, s.unmap, s.room = path, unmap, room
	room.enter(s)
	return s, nil
}

// Parse returns the segment in the bytes of a file. It does not check the items. The bytes must not change afterwards.
func Parse(whole []byte) (*Segment, error) { return parse(whole) }

func parse(whole []byte) (*Segment, error) {
	if len(whole) > len(magic) && string(whole[:len(magicAny)]) == magicAny && string(whole[:len(magic)]) != magic {
		return nil, &CorruptError{Section: "header", Reason: fmt.Sprintf("the file has format %q, but this version of Vitrine reads only format %s", whole[len(magicAny)], magic[len(magicAny):])}
	}
	if len(whole) < len(magic)+footerSize || string(whole[:len(magic)]) != magic {
		return nil, &CorruptError{Section: "header", Reason: "the file is not a segment, or is incomplete"}
	}
	footer := whole[len(whole)-footerSize:]
	if string(footer[footerSize-len(magic):]) != magic {
		return nil, &CorruptError{Section: "footer", Reason: "the file ends too early"}
	}
	const fields = footerSize - len(magic) - 4
	if crc32.Checksum(footer[:fields], castagnoli) != binary.LittleEndian.Uint32(footer[fields:]) {
		return nil, &CorruptError{Section: "footer", Reason: "its checksum does not match"}
	}
	itemsEnd := binary.LittleEndian.Uint64(footer)
	length := binary.LittleEndian.Uint64(footer[8:])
	dirLen := uint64(binary.LittleEndian.Uint32(footer[16:]))
	sums := checksums{items: binary.LittleEndian.Uint32(footer[20:]), index: binary.LittleEndian.Uint32(footer[24:])}
	body := whole[len(magic) : len(whole)-footerSize]
	if itemsEnd > length || length+dirLen != uint64(len(body)) {
		return nil, &CorruptError{Section: "footer", Reason: "it does not match the length of the file"}
	}
	if crc32.Checksum(body[itemsEnd:], castagnoli) != sums.index {
		return nil, &CorruptError{Section: "index", Reason: "its checksum does not match"}
	}
	dir, err := parseDirectory(body[length:])
	if err != nil {
		return nil, &CorruptError{Section: "directory", Reason: err.Error()}
	}
	if dir.Items.Off+dir.Items.Len != itemsEnd {
		return nil, &CorruptError{Section: "directory", Reason: "it contradicts the footer"}
	}
	s, err := assemble(dir, body[:length:length])
	if err != nil {
		return nil, err
	}
	s.whole, s.checksums = whole, sums
	return s, nil
}

// verifyChunk is the number of bytes that Verify reads between two checks of its context.
const verifyChunk = 1 << 20

// Verify compares the items with their checksum and returns a *CorruptError if they do not match. A segment that was built in memory has
// no checksum and always passes. Verify calls paused after each chunk, so that the caller can limit the rate. paused may be nil.
func (s *Segment) Verify(ctx context.Context, paused func(bytes int)) error {
	if s.whole == nil {
		return nil
	}
	end := int(s.dir.Items.Off + s.dir.Items.Len)
	sum := uint32(0)
	for from, to := 0, 0; from < end; from = to {
		if err := ctx.Err(); err != nil {
			return err
		}
		to = min(from+verifyChunk, end)
		if s.small() {
			s.readAhead(from, to)
		}
		sum = crc32.Update(sum, castagnoli, s.data[from:to])
		if paused != nil {
			paused(to - from)
		}
	}
	if sum != s.checksums.items {
		return &CorruptError{Path: s.path, Section: "items", Reason: "its checksum does not match"}
	}
	return nil
}

// Populate maps all pages of a mapped file, so that first reads cause no page faults. A response with 50 items would otherwise cause a page
// fault for almost every item. These page faults take longer than building the response. Call Populate after writing a file, when its pages
// are still in the page cache. Pages that are not in the page cache are read from the disk. Populate does nothing if the room of the segment
// is too small, because it would displace pages that are in use.
func (s *Segment) Populate() {
	if s.unmap != nil && !s.small() {
		populate(s.whole)
	}
}

// Close drops the Derived and unmaps the file. After Close, do not use the segment or data that its methods have returned.
func (s *Segment) Close() error {
	s.dropDerived()
	if s.unmap == nil {
		return nil
	}
	s.room.leave(s)
	unmap := s.unmap
	s.unmap = nil
	return unmap()
}

// readFile reads a file into memory. It replaces mapFile on systems that cannot map files.
func readFile(path string) ([]byte, func() error, error) {
	b, err := os.ReadFile(path)
	return b, func() error { return nil }, err
}

// Room is the memory in which the kernel can keep the files of open segments. If the files are larger, most reads come from the disk, and what
// the kernel reads around them (often 128 KiB, on some machines 8 MiB) would displace pages that are needed again. The segments then advise
// the kernel to read only the pages that are accessed. They ask for longer ranges before they read them: the items of a page (Ahead),
// the documents and frequencies of a term, and a column of which many numbers are read.
//
// A Room is safe for concurrent use. A nil Room is large enough for all files.
type Room struct {
	bytes int64
	tell  func(short bool)
	short atomic.Bool

	mu   sync.Mutex
	open map[*Segment]bool
	used int64
}

// NewRoom returns a room of the given size. It returns nil, which means that the room is large enough, if bytes is 0. The room calls tell
// when it becomes too small, and when it is large enough again. tell must not open or close a segment.
func NewRoom(bytes int64, tell func(short bool)) *Room {
	if bytes == 0 {
		return nil
	}
	return &Room{bytes: bytes, tell: tell, open: map[*Segment]bool{}}
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
	r.tell(short)
}

// small reports whether the room of the segment is too small for all files.
func (s *Segment) small() bool { return s.room != nil && s.room.short.Load() }

// prefetchFrom is the minimum number of bytes of a range that is worth a system call before it is read.
const prefetchFrom = 4 << 10

// advise tells the kernel whether the file is read singly, without the pages around what is accessed.
func (s *Segment) advise(singly bool) { readSingly(s.whole, singly) }

// Ahead begins to read items of a segment from the disk, if the segment is in a room that is too small. Call Add for several documents and
// then Read, before reading their items, so that the disk reads them at the same time. Items that are near each other are read at once,
// because each read costs more processor time than the bytes between them. The zero value is ready for use.
type Ahead struct {
	s        *Segment
	from, to int // a range of s.data
}

// aheadGap is the maximum number of bytes between two items that are read at once.
const aheadGap = 8 << 10

// Add adds the item of a document. All documents must be of the same segment. They should be sorted, up or down.
func (a *Ahead) Add(s *Segment, doc uint32) {
	if !s.small() {
		return
	}
	items := int(s.dir.Items.Off)
	from, to := items+int(s.offsets.at(int(doc))), items+int(s.offsets.at(int(doc)+1))
	if from > a.to+aheadGap || to < a.from-aheadGap {
		a.Read()
	}
	if a.s == nil {
		a.s, a.from, a.to = s, from, to
		return
	}
	a.from, a.to = min(a.from, from), max(a.to, to)
}

// Read begins to read the items that have been added.
func (a *Ahead) Read() {
	if a.s != nil {
		a.s.readAhead(a.from, a.to)
		a.s = nil
	}
}

// prefetch begins to read a part of the file from the disk, if the segment is in a room that is too small. rest is what follows the part in
// s.data.
func (s *Segment) prefetch(part, rest []byte) {
	if len(part) > prefetchFrom && s.small() {
		to := len(s.data) - len(rest)
		s.readAhead(to-len(part), to)
	}
}

// readAhead begins to read a range of s.data.
func (s *Segment) readAhead(from, to int) {
	from, to = from+len(magic), to+len(magic)
	from -= from % os.Getpagesize()
	if from >= 0 && from < to && to <= len(s.whole) { // always true, unless the file is damaged
		prefetch(s.whole[from:to])
	}
}
