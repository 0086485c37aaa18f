package reference

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

const shop library.PropertyID = "shop/default"

func shopProperty() library.Definition {
	return library.Definition{
		Property:     shop,
		Owner:        library.Owner{Install: "cluster", Kind: library.KindProperty, Namespace: "shop", Name: "default"},
		PropertySpec: &library.Property{PlatformPageID: 1},
	}
}

// mustOpen opens a library with the property shop in it, which the test closes.
func mustOpen(t testing.TB, o Options) *Library {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	results, err := l.Apply(t.Context(), []library.Definition{shopProperty()})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	return l
}

func post(text string) library.Mutation {
	return library.Mutation{Put: &item.Item{
		ApprovalStatus: item.Approved, CreatedOn: "2026-11-20T08:00:00Z",
		Content: item.Content{ContentType: item.Image, Text: text},
	}}
}

func write(t testing.TB, l *Library, muts ...library.Mutation) []library.Outcome {
	t.Helper()
	outcomes, err := l.Write(t.Context(), shop, muts)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	return outcomes
}

func total(t testing.TB, l *Library, n query.Node) int64 {
	t.Helper()
	page, err := l.Read(t.Context(), library.Read{Property: shop, Audience: query.Private, Query: n})
	if err != nil {
		t.Fatal(err)
	}
	return page.Total
}

func TestBudget(t *testing.T) {
	l := mustOpen(t, Options{Dir: t.TempDir(), QueryBudget: time.Nanosecond})
	muts := make([]library.Mutation, 600)
	for i := range muts {
		muts[i] = post("beach")
	}
	write(t, l, muts...)
	r := library.Read{Property: shop, Query: query.FieldTerm("text", "beach"), Limit: 1, Budgeted: true}
	if _, err := l.Read(t.Context(), r); !errors.Is(err, library.ErrTooExpensive) {
		t.Errorf("a free query past its budget: %v", err)
	}
	r.Budgeted = false
	if _, err := l.Read(t.Context(), r); err != nil {
		t.Errorf("without budget: %v", err)
	}
	r.Budgeted = true
	if _, err := l.Read(t.Context(), r); err != nil {
		t.Errorf("from the cache, which costs nothing: %v", err)
	}
}

func TestRepeatedReadsWalkOnce(t *testing.T) {
	l := mustOpen(t, Options{Dir: t.TempDir()})
	write(t, l, post("beach"), post("beach"), post("city"))
	r := library.Read{Property: shop, Query: query.FieldTerm("text", "beach"), Limit: 1}
	for range 3 {
		if _, err := l.Read(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		r.Offset++
	}
	if n := l.results.recent.Len(); n != 1 {
		t.Errorf("%d listings are kept after three pages of one", n)
	}
	write(t, l, post("beach"))
	r.Offset = 0
	page, err := l.Read(t.Context(), r)
	if err != nil || page.Total != 3 {
		t.Errorf("after a write: %+v, %v", page, err)
	}
}

func TestCacheIsBounded(t *testing.T) {
	l := mustOpen(t, Options{Dir: t.TempDir(), CachedResults: 4})
	for i := range 20 {
		total(t, l, query.FieldTerm("text", fmt.Sprint("w", i)))
	}
	if n, m := l.results.recent.Len(), len(l.results.byName); n != 4 || m != 4 {
		t.Errorf("%d and %d listings are kept, want 4", n, m)
	}
}
