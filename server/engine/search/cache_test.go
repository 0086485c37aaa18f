package search

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

func emptySegment(t testing.TB) *segment.Segment {
	t.Helper()
	s, err := segment.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// makeDocs returns a function that makes a bitmap and increments calls.
func makeDocs(calls *atomic.Int64, docs ...uint32) func() (*roaring.Bitmap, error) {
	return func() (*roaring.Bitmap, error) {
		calls.Add(1)
		return roaring.BitmapOf(docs...), nil
	}
}

// docsOf returns the documents of a segment that are cached under a key. If there are none, it makes them.
func docsOf(t *testing.T, c *Cache, s *segment.Segment, key string, make func() (*roaring.Bitmap, error)) (*roaring.Bitmap, error) {
	v, err := (&Corpus{Cache: c}).view(t.Context(), segment.Part{Segment: s}, key, make)
	if err != nil {
		return nil, err
	}
	return v.docs, nil
}

func TestViewIsMadeOnce(t *testing.T) {
	v, s := NewCache(1<<20), emptySegment(t)
	var calls atomic.Int64
	release := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			docs, err := docsOf(t, v, s, "k", func() (*roaring.Bitmap, error) {
				<-release
				return makeDocs(&calls, 7)()
			})
			if err != nil || !docs.Contains(7) {
				t.Errorf("%v, error %v", docs, err)
			}
		})
	}
	close(release)
	wg.Wait()
	if calls.Load() != 1 {
		t.Errorf("made %d times", calls.Load())
	}
	if _, err := docsOf(t, v, emptySegment(t), "k", makeDocs(&calls)); err != nil || calls.Load() != 2 {
		t.Errorf("another segment: made %d times in all, error %v", calls.Load(), err)
	}
}

func TestFailedViewIsNotKept(t *testing.T) {
	v, s := NewCache(1<<20), emptySegment(t)
	refused := errors.New("out of time")
	making, fail := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := docsOf(t, v, s, "k", func() (*roaring.Bitmap, error) {
			close(making)
			<-fail
			return nil, refused
		})
		if !errors.Is(err, refused) {
			t.Errorf("error %v", err)
		}
	})
	<-making
	var calls atomic.Int64
	// The context of the waiting caller has not ended, so it makes the view itself.
	wg.Go(func() {
		if docs, err := docsOf(t, v, s, "k", makeDocs(&calls, 1)); err != nil || !docs.Contains(1) {
			t.Errorf("%v, error %v", docs, err)
		}
	})
	close(fail)
	wg.Wait()
	if _, err := docsOf(t, v, s, "k", makeDocs(&calls, 2)); err != nil || calls.Load() != 1 {
		t.Errorf("made %d times, error %v", calls.Load(), err)
	}
}

func TestCacheLimit(t *testing.T) {
	v, s, other := NewCache(20*viewOverhead), emptySegment(t), emptySegment(t)
	var calls atomic.Int64
	get := func(s *segment.Segment, key string) {
		t.Helper()
		if _, err := docsOf(t, v, s, key, makeDocs(&calls)); err != nil {
			t.Fatal(err)
		}
	}
	get(s, "hot")
	for i := range 100 {
		get(other, fmt.Sprintf("%02d", i))
		get(s, "hot")
	}
	if v.bytes > 20*viewOverhead || v.bytes < 10*viewOverhead {
		t.Errorf("%d bytes of %d", v.bytes, 20*viewOverhead)
	}
	if calls.Load() != 101 {
		t.Errorf("a view in use was evicted: made %d times", calls.Load())
	}
	v.Shrink(2 * viewOverhead)
	get(s, "hot")
	if calls.Load() != 101 || v.bytes > 2*viewOverhead {
		t.Errorf("shrunk to %d bytes, made %d times", v.bytes, calls.Load())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if v.bytes != 0 || v.count != 0 {
		t.Errorf("the cache keeps %d views with %d bytes of a closed segment", v.count, v.bytes)
	}
}

// TestPlainBitsLimit checks that views of plain bits do not evict other views.
func TestPlainBitsLimit(t *testing.T) {
	v, s := NewCache(100*viewOverhead), emptySegment(t)
	var calls atomic.Int64
	for i := range 50 {
		if _, err := docsOf(t, v, s, fmt.Sprint(i), makeDocs(&calls)); err != nil {
			t.Fatal(err)
		}
	}
	bits := func(key string, want int64) {
		t.Helper()
		got, err := (&Corpus{Cache: v}).bits(t.Context(), segment.Part{Segment: s}, "bits "+key, func() ([]uint64, error) {
			calls.Add(1)
			return []uint64{7}, nil
		})
		if err != nil || len(got) != 1 || got[0] != 7 || calls.Load() != want {
			t.Errorf("%v after %d calls, want %d; error %v", got, calls.Load(), want, err)
		}
	}
	bits("hot", 51)
	for i := range int64(100) {
		bits(fmt.Sprint(i), 52+i)
		bits("hot", 52+i)
	}
	for i := range 50 {
		if v.of(s).views[fmt.Sprint(i)] == nil {
			t.Fatalf("view %d was evicted for plain bits", i)
		}
	}
	if v.bitsBytes > 25*viewOverhead || v.bitsBytes < 15*viewOverhead {
		t.Errorf("%d bytes of plain bits with a total limit of %d", v.bitsBytes, 100*viewOverhead)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if v.bytes != 0 || v.bitsBytes != 0 {
		t.Errorf("%d bytes remain, %d of them plain bits", v.bytes, v.bitsBytes)
	}
}

func TestCarryOverMerge(t *testing.T) {
	v := NewCache(1 << 20)
	olds := []*segment.Segment{emptySegment(t), emptySegment(t)}
	fresh := emptySegment(t)
	var calls atomic.Int64
	for key, docs := range map[string][][]uint32{"both": {{0, 1, 2}, {1}}, "one": {{0}}} {
		for i, of := range docs {
			if _, err := docsOf(t, v, olds[i], key, makeDocs(&calls, of...)); err != nil {
				t.Fatal(err)
			}
		}
	}
	v.of(olds[0]).keep("sorted", &View{docs: roaring.BitmapOf(1, 0), sorted: []uint32{1, 0}})
	v.of(olds[1]).keep("sorted", &View{docs: roaring.BitmapOf(0), sorted: []uint32{0}})
	v.of(olds[0]).keep("bits", &View{bits: []uint64{7}})
	v.of(olds[1]).keep("bits", &View{bits: []uint64{1}})
	v.Carry([]segment.Part{{Segment: olds[0]}, {Segment: olds[1]}}, fresh, [][]uint32{{1, segment.Gone, 3}, {0, 2}})
	docs, err := docsOf(t, v, fresh, "both", makeDocs(&calls))
	if err != nil || !slices.Equal(docs.ToArray(), []uint32{1, 2, 3}) {
		t.Errorf("%v, error %v", docs, err)
	}
	if kept := len(v.of(fresh).views); kept != 1 {
		t.Errorf("%d views of the merged segment, want only the one that both inputs have", kept)
	}
}

func TestGone(t *testing.T) {
	kept := &View{docs: roaring.BitmapOf(1, 2, 3)}
	if gone := kept.gone(nil); gone != nil {
		t.Errorf("%v are gone without any tombstones", gone)
	}
	if gone := kept.gone(roaring.BitmapOf(4)); gone != nil {
		t.Errorf("%v are gone with a tombstone of another document", gone)
	}
	dead := roaring.BitmapOf(2, 4)
	if gone := kept.gone(dead); gone == nil || !slices.Equal(gone.ToArray(), []uint32{2}) || kept.gone(dead) != gone {
		t.Errorf("%v are gone, want 2, computed only once", gone)
	}
}
