package search

import (
	"errors"
	"path/filepath"
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
	err  error // why no view is added any more
	at   map[string]shelved
}

// shelved is a view in the file: the serialized bitmap View.docs, and View.sorted.
type shelved struct {
	docs   []byte
	sorted []uint32
}

// size returns the number of bytes in the file.
func (v shelved) size() int64 { return int64(len(v.docs) + 4*len(v.sorted)) }

const (
	// shelfFrom is the default of Cache.ShelfFrom.
	shelfFrom = 4 << 10
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
	v := &View{sorted: found.sorted, shelved: true}
	if found.docs == nil {
		return v
	}
	v.docs = roaring.New()
	if _, err := v.docs.FromBuffer(found.docs); err != nil { // the file is damaged
		return nil
	}
	return v
}

// put adds a view to the shelf and returns the copy. It returns the view itself if the shelf has no room, or if the segment has no file.
func (s *shelf) put(key string, v *View) *View {
	if s.segment.Path() == "" {
		return v
	}
	var docs []byte
	if v.docs != nil {
		var err error
		if docs, err = v.docs.MarshalBinary(); err != nil {
			return v
		}
	}
	if err := s.add(key, shelved{docs, v.sorted}); err != nil {
		return v
	}
	return s.view(key)
}

// add copies a view to the file. After an error other than scratch.ErrFull, the shelf gets no more views.
func (s *shelf) add(key string, v shelved) error {
	file, err := s.open()
	if err == nil && v.docs != nil {
		v.docs, err = file.Append(v.docs)
	}
	if err == nil {
		v.sorted, err = file.AppendNumbers(v.sorted)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.at[key] = v
		s.total.Add(v.size())
	case !errors.Is(err, scratch.ErrFull):
		s.err = err
	}
	return err
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

// close removes the file.
func (s *shelf) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		for _, v := range s.at {
			s.total.Add(-v.size())
		}
		_ = s.file.Close() // only the kernel's memory is at stake
	}
}
