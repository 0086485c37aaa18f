package engine

import (
	"fmt"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestVersionChangesWithTheListing checks that the version of a listing changes if and only if a write affects the listing. In this test,
// segments are merged only when the test seals them, because a merge before the first read of the listing counts as a change.
func TestVersionChangesWithTheListing(t *testing.T) {
	l, err := Open(Options{Dir: t.TempDir(), memoryParts: 500})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	owner := func(kind library.Kind, name string) library.Owner {
		return library.Owner{Install: "cluster", Kind: kind, Namespace: "shop", Name: name}
	}
	apply := func(d library.Definition) {
		t.Helper()
		results, err := l.Apply(t.Context(), []library.Definition{d})
		if err != nil || results[0].Err != nil {
			t.Fatal(err, results)
		}
	}
	change := func(m library.Mutation) {
		t.Helper()
		outcomes, err := l.Write(t.Context(), trialShop, []library.Mutation{m})
		if err != nil || outcomes[0].Err != nil {
			t.Fatal(err, outcomes)
		}
	}
	post := func(id item.ID, text string) {
		t.Helper()
		change(library.Mutation{Replace: true, Put: &item.Item{ID: id, Content: item.Content{ContentType: item.Image, Text: text}}})
	}
	apply(library.Definition{Property: trialShop, Owner: owner(library.KindProperty, "default"), PropertySpec: &library.Property{PlatformPageID: 7}})
	filter := func(name, q string) library.Definition {
		uuid, id := library.FilterIDs(trialShop, library.KindFilter, "shop", name)
		return library.Definition{
			Property: trialShop, Owner: owner(library.KindFilter, name), Filter: &library.Filter{UUID: uuid, ID: id, Name: name, Query: q},
		}
	}
	beaches := filter("beaches", "beach")
	apply(beaches)
	version := func(r library.Read) string {
		t.Helper()
		r.Property, r.Limit = trialShop, 3
		p, err := l.Read(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return p.Version
	}
	reads := map[string]library.Read{
		"a filter":        {Filter: &library.FilterRef{UUID: beaches.Filter.UUID}},
		"another order":   {Filter: &library.FilterRef{UUID: beaches.Filter.UUID}, Order: query.Order{{Field: "id"}}},
		"with favourites": {Filter: &library.FilterRef{UUID: beaches.Filter.UUID}, Favourite: &item.Tag{Namespace: "vibe", Key: "hero"}},
		"a query":         {Query: query.Term{Text: "beach"}, Order: query.Order{{Field: "created_on", Desc: true}}},
	}
	for id := item.ID(1); id <= 20; id++ {
		post(id, "beach")
		post(100+id, "city")
	}
	last := map[string]string{}
	look := func(what string, touches bool) {
		t.Helper()
		for name, r := range reads {
			now := version(r)
			if before := last[name]; before != "" && (now != before) != touches {
				t.Errorf("%s, %s: version %s, then %s", name, what, before, now)
			}
			last[name] = now
		}
	}
	look("first", true)
	for n := range item.ID(60) {
		post(200+n, "city")
		look(fmt.Sprintf("item %d, which the listing does not show", 200+n), false)
	}
	if err := l.follower.property(trialShop).segments().Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	look("sealed", false)
	change(library.Mutation{Delete: true, ID: 105})
	look("an item that the listing does not show is deleted", false)
	apply(filter("cities", "city"))
	look("another filter", false)
	post(300, "beach")
	look("an item is added", true)
	post(5, "beach")
	look("an item is replaced", true)
	change(library.Mutation{Delete: true, ID: 300})
	look("an item is deleted", true)
	change(library.Mutation{Tag: &item.Tag{Namespace: "vibe", Key: "hero"}, IDs: []item.ID{7}})
	look("an item is tagged", true)
	change(library.Mutation{Tag: &item.Tag{Namespace: "vibe", Key: "hero"}, IDs: []item.ID{107}})
	look("an item that the listing does not show is tagged", false)
	apply(library.Definition{
		Property: trialShop, Owner: owner(library.KindUnit, "sandals"),
		Unit: &library.UnitRule{Unit: item.Unit{ID: 9, Name: "sandals"}, Items: []item.ID{7}},
	})
	look("a unit", true)
}
