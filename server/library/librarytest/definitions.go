package librarytest

import (
	"slices"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

var definitionTests = map[string]func(*world){
	"an equal definition changes nothing": func(w *world) {
		defs := []library.Definition{
			property(shop), filter("wall", "beach"), tagRule("summer", "beach", []item.ID{1}), unitRule("sandals", "", nil), token("front", []byte{1}),
		}
		for i, r := range w.accept(defs...) {
			if !r.Changed {
				w.Errorf("%s: not Changed when first applied", defs[i].Owner)
			}
		}
		before := w.version()
		for i, r := range w.accept(defs...) {
			if r.Changed {
				w.Errorf("%s: Changed when applied again", defs[i].Owner)
			}
		}
		w.equal("the version after nothing changed", w.version(), before)
	},
	"served definitions by kind": func(w *world) {
		_, err := w.lib.Definitions(shop, library.KindTag)
		w.errorIs("without the property", err, library.ErrNotFound)
		w.serve()
		w.change(library.Mutation{Put: newItem(1, attached(7)), Units: []item.Unit{{ID: 7, Name: "made over HTTP"}}})
		w.accept(
			filter("wall", "*:*"), tagRule("winter", "snow", []item.ID{1}), tagRule("summer", "beach", nil),
			unitRule("sandals", "beach", nil), token("front", []byte{1}),
		)
		w.apply(tagRule("summer", "beach AND", nil))
		expect := func(kind library.Kind, want ...string) {
			w.Helper()
			defs, err := w.lib.Definitions(shop, kind)
			if err != nil {
				w.Fatal(err)
			}
			got := []string{}
			for _, d := range defs {
				got = append(got, d.Owner.String())
			}
			w.equal("the definitions of the kind "+kind.String(), got, want)
		}
		check := func() {
			w.Helper()
			expect(library.KindFilter, "ContentFilter shop/wall")
			expect(library.KindTag, "Tag shop/summer", "Tag shop/winter")
			expect(library.KindUnit, "HTTP", "ActivateUnit shop/sandals")
			tags, err := w.lib.Definitions(shop, library.KindTag)
			if err != nil {
				w.Fatal(err)
			}
			w.equal("the selector of the version that is served", tags[0].Tag.Selector, "beach")
			w.equal("the ids", tags[1].Tag.Items, []item.ID{1})
		}
		check()
		w.restart()
		check()
		w.remove(owner(library.KindTag, "shop", "summer"))
		expect(library.KindTag, "Tag shop/winter")
	},
	"any order within a batch": func(w *world) {
		w.accept(filter("wall", "*:*"), unitRule("sandals", "", nil), property(shop))
		if _, err := w.lib.Filter(shop, *ref(filter("wall", ""))); err != nil {
			w.Errorf("filter: %v", err)
		}
	},
	"a refusal keeps the last good version and does not affect others": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach")), newItem(2, text("city")))
		w.accept(filter("wall", "beach"), tagRule("summer", "beach", nil))
		results := w.apply(filter("wall", "beach AND"), tagRule("summer", "tags.vibe.key:bold", nil), filter("other", "city"))
		wantError[*query.SyntaxError](w, "a broken query", results[0].Err)
		w.errorIs("a selector that names tags", results[1].Err, library.ErrInvalid)
		if results[2].Err != nil {
			w.Errorf("a sound definition beside broken ones: %v", results[2].Err)
		}
		w.expect("the last good version", library.Read{Property: shop, Filter: ref(filter("wall", "")), Limit: 10}, 1)
		w.expectTags(1, "marketer_tags:summer")
		w.expect("the other filter", library.Read{Property: shop, Filter: ref(filter("other", "")), Limit: 10}, 2)
	},
	"an update takes effect at once": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach")), newItem(2, text("city")))
		w.accept(filter("wall", "beach"))
		w.expect("before", library.Read{Property: shop, Filter: ref(filter("wall", "")), Limit: 10}, 1)
		w.accept(filter("wall", "city"))
		w.expect("after", library.Read{Property: shop, Filter: ref(filter("wall", "")), Limit: 10}, 2)
	},
	"without its property a definition waits": func(w *world) {
		results := w.apply(filter("wall", "*:*"), token("front", []byte{1}))
		for _, r := range results {
			w.errorIs("without a property", r.Err, library.ErrNoProperty)
		}
		if _, err := w.lib.Filter(shop, *ref(filter("wall", ""))); err == nil {
			w.Error("the filter is served without its property")
		}
		w.serve()
		w.accept(filter("wall", "*:*"), token("front", []byte{1}))
		if _, err := w.lib.Filter(shop, *ref(filter("wall", ""))); err != nil {
			w.Errorf("the filter is not served after its property was created: %v", err)
		}
	},
	"the older of two Tags holds the tag, the younger gets it when the older is removed": func(w *world) {
		w.serve()
		w.put(newItems(1, 2)...)
		older, younger := tagRule("summer", "", []item.ID{1}, named("a"), age(9)), tagRule("summer", "", []item.ID{2}, named("b"), age(1))
		w.accept(older)
		conflict := errorAs[*library.ConflictError](w, "the younger", w.apply(younger)[0].Err)
		if conflict != nil {
			w.equal("the holder", conflict.Holder, older.Owner)
			w.equal("the claim", conflict.Claim, "tag marketer_tags:summer")
		}
		w.finds("tags.marketer_tags.key:summer", 1)
		w.remove(older.Owner)
		w.finds("tags.marketer_tags.key:summer", 2)
		w.accept(younger)
	},
	"an older claim displaces a younger holder": func(w *world) {
		w.serve()
		w.put(newItems(1, 2)...)
		older, younger := tagRule("summer", "", []item.ID{1}, named("b"), age(9)), tagRule("summer", "", []item.ID{2}, named("a"), age(1))
		w.accept(younger)
		w.finds("tags.marketer_tags.key:summer", 2)
		r := w.accept(older)[0]
		if !slices.Equal(r.Displaced, []library.Owner{younger.Owner}) {
			w.Errorf("displaced %v, want %v", r.Displaced, younger.Owner)
		}
		w.finds("tags.marketer_tags.key:summer", 1)
		wantError[*library.ConflictError](w, "the displaced one again", w.apply(younger)[0].Err)
		w.remove(older.Owner)
		w.finds("tags.marketer_tags.key:summer", 2)
	},
	"of the same age the lower name holds it": func(w *world) {
		w.serve()
		w.accept(tagRule("summer", "", nil, named("b"), age(1)))
		w.accept(tagRule("summer", "", nil, named("a"), age(1)))
		wantError[*library.ConflictError](w, "the higher name", w.apply(tagRule("summer", "", nil, named("b"), age(1)))[0].Err)
	},
	"a loser's last good version stays": func(w *world) {
		w.serve()
		w.put(newItems(1, 2)...)
		w.accept(tagRule("winter", "", []item.ID{1}, age(9)), tagRule("summer", "", []item.ID{2}, age(1)))
		moved := tagRule("winter", "", []item.ID{2}, named("summer"), age(1))
		wantError[*library.ConflictError](w, "a claim that is taken", w.apply(moved)[0].Err)
		w.finds("tags.marketer_tags.key:winter", 1)
		w.finds("tags.marketer_tags.key:summer", 2)
		w.remove(owner(library.KindTag, "shop", "winter"))
		w.finds("tags.marketer_tags.key:winter", 2)
		w.finds("tags.marketer_tags.key:summer")
	},
	"two default units": func(w *world) {
		w.serve()
		w.put(newItem(1))
		older, younger := unitRule("boots", "", nil, byDefault, age(9)), unitRule("sandals", "", nil, byDefault, age(1))
		w.accept(older)
		wantError[*library.ConflictError](w, "a second default", w.apply(younger)[0].Err)
		w.equal("the default unit", w.show(1).Default.ID, unitID("boots"))
		w.remove(older.Owner)
		w.equal("the default unit once the holder is gone", w.show(1).Default.ID, unitID("sandals"))
	},
	"a manifest's filter keeps its ids": func(w *world) {
		w.serve()
		d := filter("wall", "*:*")
		w.accept(d)
		w.remove(d.Owner)
		if _, err := w.lib.Filter(shop, *ref(d)); err == nil {
			w.Error("a removed filter is still there")
		}
		w.accept(d)
		byUUID, err := w.lib.Filter(shop, library.FilterRef{UUID: d.Filter.UUID})
		if err != nil {
			w.Fatal(err)
		}
		byID, err := w.lib.Filter(shop, library.FilterRef{ID: d.Filter.ID})
		if err != nil {
			w.Fatal(err)
		}
		w.equal("the filter by its other name", byID, byUUID)
		w.equal("its owner", byUUID.Owner, d.Owner)
		w.equal("its property's page id", byUUID.PlatformPageID, library.PlatformPageID(shop))
	},
	"filters over HTTP": func(w *world) {
		w.serve()
		d := httpFilter("Beaches", "beach")
		w.accept(d)
		d.Filter.Query = "city"
		if r := w.accept(d)[0]; !r.Changed {
			w.Error("a new query is no change")
		}
		got, err := w.lib.Filter(shop, *ref(d))
		if err != nil {
			w.Fatal(err)
		}
		w.equal("the new query", got.Query, "city")
		w.equal("made over HTTP", got.Owner.IsHTTP(), true)
		if err := w.removeFilter(library.FilterRef{ID: d.Filter.ID}); err != nil {
			w.Fatal(err)
		}
		w.errorIs("removing it twice", w.removeFilter(*ref(d)), library.ErrNotFound)
		wantError[*query.SyntaxError](w, "a broken query", w.apply(func() library.Definition { d.Filter.Query = "("; return d }())[0].Err)
	},
	"a manifest's filter is not removed or changed over HTTP": func(w *world) {
		w.serve()
		d := filter("wall", "*:*")
		w.accept(d)
		managed := errorAs[*library.ManagedError](w, "removing it", w.removeFilter(*ref(d)))
		if managed != nil {
			w.equal("the owner", managed.Owner, d.Owner)
		}
		over := d
		over.Owner = library.Owner{}
		wantError[*library.ManagedError](w, "changing it", w.apply(over)[0].Err)
	},
	"filters are listed by name, then id": func(w *world) {
		w.serve()
		w.accept(httpFilter("c", "*:*"), httpFilter("a", "*:*"), filter("b", "*:*"))
		all, total, err := w.lib.Filters(shop, 0, 0)
		if err != nil {
			w.Fatal(err)
		}
		names := []string{}
		for _, f := range all {
			names = append(names, f.Name)
		}
		w.equal("names", names, []string{"a", "b", "c"})
		w.equal("total", total, 3)
		some, total, err := w.lib.Filters(shop, 1, 1)
		if err != nil {
			w.Fatal(err)
		}
		if len(some) != 1 || some[0].Name != "b" || total != 3 {
			w.Errorf("the second page of one: %v of %d", some, total)
		}
		if past, _, err := w.lib.Filters(shop, 9, 1); err != nil || len(past) != 0 {
			w.Errorf("past the end: %v, %v", past, err)
		}
		for name, tc := range map[string]struct {
			after library.FilterPlace
			limit int
			want  []string
		}{
			"from the beginning":       {library.FilterPlace{}, 0, []string{"a", "b", "c"}},
			"after one that is listed": {library.FilterPlace{Name: "a", ID: all[0].ID}, 1, []string{"b"}},
			"before its id":            {library.FilterPlace{Name: "a", ID: all[0].ID - 1}, 1, []string{"a"}},
			"between two":              {library.FilterPlace{Name: "bb"}, 5, []string{"c"}},
			"after the last one":       {library.FilterPlace{Name: "d"}, 5, []string{}},
		} {
			after, total, err := w.lib.FiltersAfter(shop, tc.after, tc.limit)
			if err != nil || total != 3 {
				w.Errorf("%s: %d in all, %v", name, total, err)
			}
			names := []string{}
			for _, f := range after {
				names = append(names, f.Name)
			}
			w.equal(name, names, tc.want)
		}
	},
	"adoption and release": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach")), newItem(2, text("city")))
		h := httpFilter("Beaches", "beach")
		w.accept(h)
		m := filter("wall", "city", adopt(h.Filter.ID))
		w.accept(m)
		got, err := w.lib.Filter(shop, *ref(h))
		if err != nil {
			w.Fatal(err)
		}
		w.equal("the owner", got.Owner, m.Owner)
		w.equal("the id", got.ID, h.Filter.ID)
		w.equal("the UUID", got.UUID, h.Filter.UUID)
		w.expect("the manifest's query", library.Read{Property: shop, Filter: ref(h), Limit: 10}, 2)
		_, total, err := w.lib.Filters(shop, 0, 0)
		if err != nil || total != 1 {
			w.Errorf("%d filters listed (%v), want 1", total, err)
		}
		wantError[*library.ManagedError](w, "changing it over HTTP", w.apply(h)[0].Err)
		wantError[*library.ManagedError](w, "removing it over HTTP", w.removeFilter(*ref(h)))
		second := filter("second", "*:*", adopt(h.Filter.ID), age(1))
		wantError[*library.ConflictError](w, "a second adoption", w.apply(second)[0].Err)
		w.remove(second.Owner, m.Owner)
		got, err = w.lib.Filter(shop, *ref(h))
		if err != nil {
			w.Fatal(err)
		}
		w.equal("released", got.Owner.IsHTTP(), true)
		w.equal("the id after release", got.ID, h.Filter.ID)
		w.equal("the query after release", got.Query, "beach")
		w.expect("its own query again", library.Read{Property: shop, Filter: ref(h), Limit: 10}, 1)
	},
	"nothing to adopt": func(w *world) {
		w.serve()
		r := w.apply(filter("wall", "*:*", adopt(12345)))[0]
		w.errorIs("adoption of nothing", r.Err, library.ErrInvalid)
	},
	"an id that is in use": func(w *world) {
		w.serve()
		d := filter("wall", "*:*")
		h := httpFilter("Beaches", "beach")
		h.Filter.ID = d.Filter.ID
		w.accept(h)
		taken := errorAs[*library.IDTakenError](w, "the derived id", w.apply(d)[0].Err)
		if taken != nil {
			w.equal("the id", taken.ID, d.Filter.ID)
			w.equal("the holder", taken.Holder.IsHTTP(), true)
		}
		u := item.Unit{ID: unitID("sandals"), Name: "made over HTTP"}
		w.change(library.Mutation{Put: newItem(1, attached(u.ID)), Units: []item.Unit{u}})
		wantError[*library.IDTakenError](w, "a unit's id", w.apply(unitRule("sandals", "", nil))[0].Err)
	},
	"definition by owner": func(w *world) {
		w.serve()
		d := filter("wall", "beach")
		w.accept(d)
		got, err := w.lib.Definition(w.ctx(), d.Owner)
		if err != nil {
			w.Fatal(err)
		}
		w.equal("the query", got.Filter.Query, "beach")
		_, err = w.lib.Definition(w.ctx(), owner(library.KindFilter, "shop", "none"))
		w.errorIs("an unknown owner", err, library.ErrNotFound)
		w.equal("definitions", w.lib.State(w.ctx()).Definitions, int64(2))
	},
	"missing items are counted and named": func(w *world) {
		w.serve()
		w.put(newItem(5))
		var ids []item.ID
		for id := item.ID(1); id <= 20; id++ {
			ids = append(ids, id)
		}
		r := w.accept(tagRule("summer", "", ids))[0]
		w.equal("missing", r.MissingItems, 19)
		w.equal("the first", r.MissingFirst, []item.ID{1, 2, 3, 4, 6, 7, 8, 9, 10, 11})
		w.put(newItems(6, 20)...)
		w.equal("missing when applied again", w.accept(tagRule("summer", "", ids))[0].MissingItems, 4)
	},
}
