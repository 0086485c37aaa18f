package engine

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestDropDerived checks that dropDerived drops data that a read derived from segments, but only while the process is short of memory.
func TestDropDerived(t *testing.T) {
	pressure := library.Relaxed
	l := openShop(t, Options{Pressure: func() library.Pressure { return pressure }})
	mustWrite(t, l, trialShop, beach(1))
	read := func() {
		t.Helper()
		found, err := l.Facets(t.Context(), library.Read{Property: trialShop, Query: query.All{}}, library.Facet{Field: "content_type", Limit: 1})
		if err != nil || len(found.Values) != 1 {
			t.Fatal(found, err)
		}
	}
	read()
	derived := func() int64 { return l.follower.property(trialShop).segments().Stats().DerivedBytes }
	if l.dropDerived(); derived() == 0 {
		t.Error("derived structures are missing: the read created none, or they were dropped without pressure")
	}
	pressure = library.Tight
	if l.dropDerived(); derived() != 0 {
		t.Errorf("%d bytes are kept under pressure", derived())
	}
	read()
}

// TestShelves checks that views of a segment in a file leave the heap if the cache has no room for them, and that answers stay the same.
func TestShelves(t *testing.T) {
	q, err := query.Parse("content_type:image AND text:beach")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: t.TempDir(), CacheBytes: 1, shelfFrom: 1}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, l, definedProperty(trialShop))
	for id := range int64(50) {
		mustWrite(t, l, trialShop, beach(id+1))
	}
	if err := l.Close(); err != nil { // seals the items in memory
		t.Fatal(err)
	}
	if l, err = Open(o); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 4 {
		l.follower.property(trialShop).reads.Forget()
		p, err := l.Read(t.Context(), library.Read{Property: trialShop, Query: q.Root, Limit: 1})
		if err != nil || p.Total != 50 {
			t.Fatalf("%d items, error %v", p.Total, err)
		}
	}
	if s := l.follower.cache.Stats(); s.Shelved == 0 {
		t.Errorf("no view is in a file: %+v", s)
	}
}

// TestCrowded opens a library whose index file does not fit in the memory limit. Options.Crowded must be told so, and that it is no longer
// true when the file is closed. A page of the library has all items.
func TestCrowded(t *testing.T) {
	var crowded atomic.Bool
	o := Options{Dir: t.TempDir(), MemoryLimit: 8, CacheBytes: 1 << 20, Crowded: crowded.Store}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, l, definedProperty(trialShop))
	for id := range int64(3) {
		mustWrite(t, l, trialShop, beach(id+1))
	}
	if err := l.Close(); err != nil { // seals the items in memory
		t.Fatal(err)
	}
	if l, err = Open(o); err != nil {
		t.Fatal(err)
	}
	p, err := l.Read(t.Context(), library.Read{Property: trialShop, Query: query.All{}, Limit: 10})
	if err != nil || p.Count != 3 || strings.Count(string(p.Items), `"content_type"`) != 3 {
		t.Errorf("items %s, error %v", p.Items, err)
	}
	if !crowded.Load() {
		t.Error("an index file that does not fit in the memory limit was not reported")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if crowded.Load() {
		t.Error("the closed library was reported to be crowded")
	}
}
