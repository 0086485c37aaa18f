package engine

import (
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestReleaseUnderPressure checks that what a read derived from segments is dropped while memory is short, and only then.
func TestReleaseUnderPressure(t *testing.T) {
	pressure := library.Relaxed
	l, err := Open(Options{Dir: t.TempDir(), Pressure: func() library.Pressure { return pressure }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	results, err := l.Apply(t.Context(), []library.Definition{{
		Property: trialShop, Owner: library.Owner{Install: "cluster", Kind: library.KindProperty, Namespace: "shop", Name: "default"},
		PropertySpec: &library.Property{PlatformPageID: 7},
	}})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	if _, err := l.Write(t.Context(), trialShop, []library.Mutation{{Put: &item.Item{Content: item.Content{ContentType: item.Image, Text: "beach"}}}}); err != nil {
		t.Fatal(err)
	}
	read := func() {
		t.Helper()
		found, err := l.Facets(t.Context(), library.Read{Property: trialShop, Query: query.All{}}, library.Facet{Field: "content_type", Limit: 1})
		if err != nil || len(found.Values) != 1 {
			t.Fatal(found, err)
		}
	}
	read()
	derived := func() int64 { return l.follower.property(trialShop).segments().Stats().DerivedBytes }
	if l.release(); derived() == 0 {
		t.Error("nothing is derived, or it is dropped without pressure")
	}
	pressure = library.Tight
	if l.release(); derived() != 0 {
		t.Errorf("%d bytes are kept under pressure", derived())
	}
	read()
}
