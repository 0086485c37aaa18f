package search

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// madeCorpus returns segments of random items, some of which are deleted. If apart is true, each segment has its own range of times.
func madeCorpus(t testing.TB, r *rand.Rand, sizes []int, apart bool) *Corpus {
	t.Helper()
	c := &Corpus{Cache: NewCache(1 << 30)}
	campaign, _ := query.Lookup("campaign")
	created, _ := query.Lookup("created_on")
	id := item.ID(0)
	for i, size := range sizes {
		docs := make([]segment.Doc, size)
		for j := range docs {
			id++
			docs[j] = segment.Doc{ID: id, Created: math.MinInt64}
			if r.IntN(10) > 0 {
				docs[j].Created = int64(r.IntN(1 + size/2))
				if apart {
					docs[j].Created += int64(i) * 1e6
				}
				docs[j].Values = append(docs[j].Values, segment.Value{Field: created, Value: query.Value{Int: docs[j].Created}})
			}
			if r.IntN(4) > 0 {
				docs[j].Values = append(docs[j].Values, segment.Value{Field: campaign, Value: query.Value{Int: int64(r.IntN(7))}})
			}
		}
		s, err := segment.Build(docs)
		if err != nil {
			t.Fatal(err)
		}
		p := segment.Part{Segment: s}
		if share := r.IntN(3); share > 0 {
			p.Dead = roaring.New()
			for doc := range uint32(size) {
				if share == 1 && r.IntN(50) == 0 || share == 2 && doc%512 > 100 {
					p.Dead.Add(doc)
				}
			}
		}
		c.Parts = append(c.Parts, p)
	}
	return c
}

// streamOf returns a stream of random documents, and the hits that the stream should yield. It computes the hits by sorting.
func streamOf(t testing.TB, r *rand.Rand, c *Corpus, order query.Order) (*stream, []Hit) {
	t.Helper()
	o, err := c.Order(context.Background(), order, nil)
	if err != nil {
		t.Fatal(err)
	}
	views := make([]*View, len(c.Parts))
	var want []Hit
	for part, p := range c.Parts {
		v := &View{docs: roaring.New()}
		kept := 1 + r.IntN(4)
		for doc := range uint32(p.Segment.Len()) {
			if r.IntN(kept) > 0 || kept == 1 {
				v.docs.Add(doc)
				if p.Dead == nil || !p.Dead.Contains(doc) {
					want = append(want, Hit{Part: part, Doc: doc})
				}
			}
		}
		documents, err := o.Documents(context.Background(), part)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range documents {
			if v.docs.Contains(doc) {
				v.sorted = append(v.sorted, doc)
			}
		}
		views[part] = v
	}
	slices.SortFunc(want, o.Compare)
	return newStream(c, o, views), want
}

var streamShapes = map[string]struct {
	sizes []int
	apart bool
}{
	"nothing":          {},
	"one":              {sizes: []int{1}},
	"one segment":      {sizes: []int{700}},
	"small ones":       {sizes: []int{1, 2, 3, 5, 8, 13, 1, 1}},
	"one large":        {sizes: []int{3000, 40, 7, 1, 1}},
	"alike":            {sizes: []int{500, 500, 500, 500}},
	"one after other":  {sizes: []int{900, 500, 30}, apart: true},
	"beyond a bitmap":  {sizes: []int{70_000, 300}},
	"many, and uneven": {sizes: []int{2000, 1500, 900, 400, 200, 100, 50, 20, 10, 5, 2, 1}},
}

func TestStream(t *testing.T) {
	orders := map[string]query.Order{
		"natural": nil, "natural by name": {{Field: "created_on", Desc: true}}, "oldest first": {{Field: "created_on"}},
		"two keys": {{Field: "campaign", Desc: true}, {Field: "id"}},
	}
	for name, shape := range streamShapes {
		for by, order := range orders {
			t.Run(name+"/"+by, func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(len(name)), uint64(len(by))))
				c := madeCorpus(t, r, shape.sizes, shape.apart)
				s, want := streamOf(t, r, c, order)
				if s.total != len(want) {
					t.Fatalf("%d documents, want %d", s.total, len(want))
				}
				for range 40 {
					from := r.IntN(len(want) + 2)
					got := s.take(nil, s.split(min(from, s.total)), 30)
					from = min(from, len(want))
					if expected := want[from:min(from+30, len(want))]; !slices.Equal(got, expected) {
						t.Fatalf("from %d: %v, want %v", from, got, expected)
					}
					if from == len(want) {
						continue
					}
					got = s.take(nil, s.after(s.order.Place(want[from])), 30)
					if expected := want[from+1 : min(from+31, len(want))]; !slices.Equal(got, expected) {
						t.Fatalf("after %d: %v, want %v", from, got, expected)
					}
				}
			})
		}
	}
}

// TestHolesAreKeptUpToDate deletes documents of a sorted view in several steps.
func TestHolesAreKeptUpToDate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	c := madeCorpus(t, r, []int{3000}, false)
	order := query.Order{{Field: "campaign"}}
	o, err := c.Order(t.Context(), order, nil)
	if err != nil {
		t.Fatal(err)
	}
	sorted, err := o.Documents(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	v := &View{docs: roaring.New(), sorted: sorted}
	v.docs.AddRange(0, 3000)
	for _, died := range []int{1, 3, 500, 2, 0, 40} {
		dead := roaring.New()
		if before := c.Parts[0].Dead; before != nil {
			dead.Or(before)
		}
		for range died {
			dead.Add(uint32(r.IntN(3000)))
		}
		c.Parts[0].Dead = dead
		s := newStream(c, o, []*View{v})
		var want []Hit
		for _, doc := range sorted {
			if !dead.Contains(doc) {
				want = append(want, Hit{Doc: doc})
			}
		}
		if got := s.take(nil, position{starts: []int{0}}, 3000); !slices.Equal(got, want) {
			t.Fatalf("after %d more deletions: got %d documents, want %d, or another order", died, len(got), len(want))
		}
	}
}

// TestRecentStream reads pages of one query in two orders, and evicts the views between some of the pages.
func TestRecentStream(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	c := madeCorpus(t, r, []int{900, 300, 40, 1}, false)
	c.Cache = NewCache(1 << 20)
	q, err := Bind(t.Context(), plan.All{}, c)
	if err != nil {
		t.Fatal(err)
	}
	orders := make([]*Order, 2)
	want := make([][]Hit, 2)
	for i, order := range []query.Order{nil, {{Field: "campaign"}}} {
		if orders[i], err = c.Order(t.Context(), order, nil); err != nil {
			t.Fatal(err)
		}
		if want[i], err = q.Page(t.Context(), orders[i], "", nil, nil, 0, 2000); err != nil {
			t.Fatal(err)
		}
	}
	for range 200 {
		order := r.IntN(2)
		if r.IntN(4) == 0 {
			c.Cache.Shrink(0)
			runtime.GC()
		}
		before := c.Cache.Stats()
		from := r.IntN(len(want[order]))
		got, err := q.Page(t.Context(), orders[order], "", nil, nil, int64(from), 20)
		if expected := want[order][from:min(from+20, len(want[order]))]; err != nil || !slices.Equal(got, expected) {
			t.Fatalf("page from %d: %v, want %v; error %v", from, got, expected, err)
		}
		after := c.Cache.Stats()
		if after.Hits+after.Misses == before.Hits+before.Misses {
			t.Fatalf("a page without a lookup: %+v", after)
		}
	}
	recent := q.recent.Load()
	now := recent.restore()
	if now == nil {
		t.Fatal("the recent stream is lost although its views are cached")
	}
	c.Cache.Shrink(0)
	if recent.restore() != nil {
		t.Error("the recent stream uses views that the cache has evicted")
	}
	runtime.KeepAlive(now) // the views exist until here
}

// TestRecentStreamsKeepNoMemory checks that queries keep nothing of views that the cache has evicted.
func TestRecentStreamsKeepNoMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	c := madeCorpus(t, r, []int{40_000}, false)
	c.Cache = NewCache(1 << 30)
	dead := roaring.New()
	for doc := uint32(0); doc < 40_000; doc += 2 {
		dead.Add(doc)
	}
	c.Parts[0].Dead = dead
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const seeds = 50
	var queries [seeds]*Query
	before := heap()
	for i := range queries {
		seed := strconv.Itoa(i)
		q, err := Bind(t.Context(), plan.All{}, c)
		if err != nil {
			t.Fatal(err)
		}
		o, err := c.Order(t.Context(), query.Order{{Field: query.RandomKey}}, func(id item.ID) int64 { return id * int64(2*i+1) % 40_009 })
		if err != nil {
			t.Fatal(err)
		}
		if page, err := q.Page(t.Context(), o, seed, nil, nil, 0, 20); err != nil || len(page) != 20 {
			t.Fatalf("%d hits, %v", len(page), err)
		}
		queries[i] = q
	}
	c.Cache.Shrink(0)
	if each := (heap() - before) / seeds; each > 20_000 { // the list of deleted documents alone takes 80,000 bytes
		t.Errorf("each query keeps %d bytes of evicted views", each)
	}
	runtime.KeepAlive(queries)
}

func TestSplitAllocatesOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	c := madeCorpus(t, r, []int{60_000, 20_000, 5000, 300, 20, 1}, false)
	s, want := streamOf(t, r, c, nil)
	allocated := testing.AllocsPerRun(10, func() { s.split(len(want) / 2) })
	if allocated > 1 {
		t.Errorf("%v allocations, want at most 1", allocated)
	}
}

func BenchmarkSplit(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	c := madeCorpus(b, r, []int{500_000, 300_000, 100_000, 50_000, 30_000, 5000, 300, 20, 1}, false)
	s, want := streamOf(b, r, c, nil)
	for _, n := range []int{0, 50, len(want) / 3, len(want) - 50} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				s.take(nil, s.split(n), 50)
			}
		})
	}
}
