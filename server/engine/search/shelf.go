package search

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/scratch"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// shelf keeps the large views of a segment in a scratch file, where they do not count towards the limit of the Cache. A page of a filter
// reads only a few places of a view, so the kernel need not hold the rest in memory. Making the view again would read all postings of the
// query.
type shelf struct {
	segment *segment.Segment
	// total is the size of the files of all shelves in bytes.
	total *atomic.Int64

	mu   sync.Mutex
	file *scratch.File
	err  error // why no view can be added
	at   map[string]shelved
}

// Lasting says for how long a view is of use.
type Lasting uint8

const (
	// Fleeting is a view whose key is used only for a short time. It does not go to a shelf.
	Fleeting Lasting = iota
	// Repeated is a view that may be used again. It goes to a shelf when it is made for the second time.
	Repeated
	// Stored is a view of a stored filter. It goes to a shelf when it is made.
	Stored
)

// shelved is a view in the file: the serialized bitmap View.docs, and View.sorted.
type shelved struct {
	docs   []byte
	sorted []uint32
}

// size returns the number of bytes in the file.
func (v shelved) size() int64 { return int64(len(v.docs) + 4*len(v.sorted)) }

const (
	// shelfFrom is the default of Cache.ShelfFrom.
	shelfFrom = 8 << 10
	// shelfKey is the maximum length of the key of a view on a shelf. The keys are in the heap until the segment is closed.
	shelfKey = 1 << 10
	// shelfBytesPerDoc limits the size of a shelf. The views of a thousand filters take about 70 bytes for each document.
	shelfBytesPerDoc = 128
	// containerBytes is the approximate memory for a block of 65,536 documents of a view on a shelf.
	containerBytes = 64
)

// view returns the view of a key, or nil if it is not on the shelf.
func (s *shelf) view(key string) *View {
	s.mu.Lock()
	found, ok := s.at[key]
	s.mu.Unlock()
	if !ok {
		return nil
	}
	v := &View{sorted: found.sorted, lasting: Stored, shelved: true}
	if found.docs == nil {
		return v
	}
	v.docs = roaring.New()
	if _, err := v.docs.FromBuffer(found.docs); err != nil { // the file is damaged
		return nil
	}
	return v
}

// put moves a view to the shelf and returns it. If that is impossible, put returns the view itself.
func (s *shelf) put(key string, v *View) *View {
	if len(key) > shelfKey || s.segment.Path() == "" {
		return v
	}
	size := 4 * len(v.sorted)
	if v.docs != nil {
		size += int(v.docs.GetSerializedSizeInBytes())
	}
	file, err := s.open()
	if err != nil || !file.Fits(size) {
		return v
	}
	var docs []byte
	if v.docs != nil {
		if docs, err = v.docs.MarshalBinary(); err != nil {
			return v
		}
	}
	var moved shelved
	moved.docs, moved.sorted, err = file.Append(docs, v.sorted)
	if err != nil {
		if !errors.Is(err, scratch.ErrFull) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.err = err
		}
		return v
	}
	s.mu.Lock()
	s.at[key] = moved
	s.mu.Unlock()
	s.total.Add(moved.size())
	if copied := s.view(key); copied != nil {
		return copied
	}
	return v
}

// open returns the file, which it creates on the first call.
func (s *shelf) open() (*scratch.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil && s.err == nil {
		s.file, s.err = scratch.New(filepath.Dir(s.segment.Path()), shelfBytesPerDoc*s.segment.Len())
		s.at = map[string]shelved{}
	}
	return s.file, s.err
}

// keys returns the keys of all views on the shelf.
func (s *shelf) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.at))
}

// close removes the file.
func (s *shelf) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		for _, v := range s.at {
			s.total.Add(-v.size())
		}
		_ = s.file.Close() // an error is of no use here: the data in the file is not needed
	}
}
