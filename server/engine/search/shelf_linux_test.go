package search

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
)

// mappedSegment returns a segment with n documents in a file, and the directory of the file.
func mappedSegment(t *testing.T, n int) (*segment.Segment, string) {
	t.Helper()
	docs := make([]segment.Doc, n)
	for i := range docs {
		docs[i] = segment.NewDoc(&item.Item{ID: item.ID(i + 1), Content: item.Content{ContentType: item.Image}})
	}
	built, err := segment.Build(docs)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "one.seg")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := built.WriteTo(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := segment.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

// TestShelf makes views that the cache evicts at once. A view must be made only twice: afterwards, it is on the shelf.
func TestShelf(t *testing.T) {
	s, dir := mappedSegment(t, 1000)
	c := NewCache(1)
	c.ShelfFrom = 100
	var calls atomic.Int64
	some := make([]uint32, 0, 500)
	for doc := range uint32(500) {
		some = append(some, 2*doc)
	}
	reversed := slices.Clone(some)
	slices.Reverse(reversed)
	views := map[string]*View{
		"documents": {docs: roaring.BitmapOf(some...), lasting: Repeated},
		"ordered":   {docs: roaring.BitmapOf(some...), sorted: reversed},
		"an order":  {sorted: reversed},
	}
	for key, view := range views {
		calls.Store(0)
		for range 4 {
			v, err := c.of(s).get(t.Context(), key, func() (*View, error) {
				calls.Add(1)
				return &View{docs: view.docs, sorted: view.sorted, lasting: Repeated}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(v.sorted, view.sorted) || (v.docs == nil) != (view.docs == nil) || v.docs != nil && !v.docs.Equals(view.docs) {
				t.Errorf("%s: the view differs after it was made %d times", key, calls.Load())
			}
		}
		if n := calls.Load(); n != 2 {
			t.Errorf("%s: made %d times, want 2", key, n)
		}
	}
	for key, view := range map[string]*View{
		"small": {docs: roaring.BitmapOf(7), lasting: Repeated}, "fleeting": {docs: roaring.BitmapOf(some...)}, strings.Repeat("long", shelfKey): views["documents"],
	} {
		calls.Store(0)
		for range 3 {
			if _, err := c.of(s).get(t.Context(), key, func() (*View, error) {
				calls.Add(1)
				return &View{docs: view.docs, lasting: view.lasting}, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if n := calls.Load(); n != 3 {
			t.Errorf("%.10s: made %d times, want 3", key, n)
		}
	}
	if n := c.Stats().Shelved; n < 3*1000 {
		t.Errorf("%d bytes are on shelves", n)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("the directory has %v, error %v; want only the segment", names, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := c.Stats().Shelved; n != 0 {
		t.Errorf("%d bytes are on shelves after the segment was closed", n)
	}
}

// TestStoredView checks that a view of a stored filter goes to the shelf when it is made for the first time.
func TestStoredView(t *testing.T) {
	s, _ := mappedSegment(t, 1000)
	defer s.Close()
	c := NewCache(1 << 20)
	c.ShelfFrom = 1
	v, err := c.of(s).get(t.Context(), "k", func() (*View, error) { return &View{docs: roaring.BitmapOf(1, 2), lasting: Stored}, nil })
	if err != nil || !v.shelved || v.docs.GetCardinality() != 2 {
		t.Errorf("%+v, error %v", v, err)
	}
}

// TestFullShelf checks that a view that does not fit is made again each time, and that later views that fit are added.
func TestFullShelf(t *testing.T) {
	s, _ := mappedSegment(t, 10)
	defer s.Close()
	c := NewCache(1)
	c.ShelfFrom = 1
	for _, view := range []struct {
		key  string
		size int
		want int64
	}{{"a", 10, 2}, {"large", 10 * shelfBytesPerDoc, 3}, {"b", 10, 2}} {
		var calls atomic.Int64
		for range 3 {
			v, err := c.of(s).get(t.Context(), view.key, func() (*View, error) {
				calls.Add(1)
				return &View{sorted: make([]uint32, view.size), lasting: Repeated}, nil
			})
			if err != nil || len(v.sorted) != view.size {
				t.Errorf("%s: %+v, error %v", view.key, v, err)
			}
		}
		if n := calls.Load(); n != view.want {
			t.Errorf("%s: made %d times, want %d", view.key, n, view.want)
		}
	}
}

// TestCarryToShelf checks that a merge moves a view to the shelf of the merged segment if it was on the shelf of an input.
func TestCarryToShelf(t *testing.T) {
	old, _ := mappedSegment(t, 1000)
	defer old.Close()
	merged, _ := mappedSegment(t, 1000)
	defer merged.Close()
	c := NewCache(1)
	c.ShelfFrom = 1
	docs := roaring.BitmapOf(1, 5, 999)
	for range 2 {
		if _, err := c.of(old).get(t.Context(), "k", func() (*View, error) { return &View{docs: docs, lasting: Repeated}, nil }); err != nil {
			t.Fatal(err)
		}
	}
	same := make([]uint32, 1000)
	for i := range same {
		same[i] = uint32(i)
	}
	c.Carry([]segment.Part{{Segment: old}}, merged, [][]uint32{same})
	v, err := c.of(merged).get(t.Context(), "k", func() (*View, error) {
		t.Error("the view was made again")
		return &View{docs: docs}, nil
	})
	if err != nil || !v.shelved || !v.docs.Equals(docs) {
		t.Errorf("%+v, error %v", v, err)
	}
}
