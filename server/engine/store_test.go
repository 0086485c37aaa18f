package engine

import (
	"fmt"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/reference"
)

// TestEngineAndReferenceOpenOneStore opens a store alternately with the engine and with the reference. Each library adds items that the
// other library must find.
func TestEngineAndReferenceOpenOneStore(t *testing.T) {
	dir := t.TempDir()
	open := map[string]func() (library.Library, error){
		"reference": func() (library.Library, error) { return reference.Open(reference.Options{Dir: dir}) },
		"engine":    func() (library.Library, error) { return Open(Options{Dir: dir, sealDocs: 2}) },
	}
	items := 0
	for turn, name := range []string{"engine", "reference", "engine", "engine", "reference", "reference", "engine"} {
		l, err := open[name]()
		if err != nil {
			t.Fatal(err)
		}
		if turn == 0 {
			results, err := l.Apply(t.Context(), []library.Definition{{
				Property: trialShop, Owner: library.Owner{Install: "cluster", Kind: library.KindProperty, Namespace: "shop", Name: "default"},
				PropertySpec: &library.Property{PlatformPageID: 7},
			}})
			if err != nil || results[0].Err != nil {
				t.Fatal(err, results)
			}
		}
		var muts []library.Mutation
		for range 3 {
			items++
			muts = append(muts, library.Mutation{Put: &item.Item{
				ID: item.ID(items), ShortCode: fmt.Sprintf("c%d", items), Content: item.Content{ContentType: item.Image, Text: fmt.Sprintf("turn%d beach", turn)},
			}})
		}
		if items > 5 {
			muts = append(muts, library.Mutation{Delete: true, ID: item.ID(items - 5)})
		}
		outcomes, err := l.Write(t.Context(), trialShop, muts)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range outcomes {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
		}
		want := int64(items - turn) // each turn deletes an item, except for the first turn
		page, err := l.Read(t.Context(), library.Read{Property: trialShop, Query: query.Term{Text: "beach"}, Limit: 100})
		if err != nil || page.Total != want || int64(page.Count) != want {
			t.Fatalf("turn %d, %s: %v, error %v, want %d items", turn, name, page, err, want)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
