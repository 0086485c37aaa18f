package engine

import (
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
