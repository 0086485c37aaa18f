package librarytest

import (
	"fmt"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

var ownershipTests = map[string]func(*world){
	"a tag from both a manifest and HTTP": func(w *world) {
		w.serve()
		w.put(newItem(1))
		d := tagRule("summer", "", []item.ID{1})
		w.accept(d)
		w.tag("marketer_tags", "summer", 1)
		w.expectTags(1, "marketer_tags:summer")
		w.remove(d.Owner)
		w.expectTags(1, "marketer_tags:summer")
		w.untag("summer", 1)
		w.expectTags(1)
	},
	"removing the HTTP mapping keeps the manifest's": func(w *world) {
		w.serve()
		w.put(newItem(1))
		w.tag("marketer_tags", "summer", 1)
		w.accept(tagRule("summer", "", []item.ID{1}))
		w.untag("summer", 1)
		w.expectTags(1, "marketer_tags:summer")
		o := w.write(library.Mutation{Untag: &item.Tag{Namespace: "marketer_tags", Key: "summer"}, IDs: []item.ID{1}})[0]
		managed := errorAs[*library.ManagedError](w, "removing a mapping that only a manifest holds", o.Err)
		if managed != nil {
			w.equal("its owner", managed.Owner, owner(library.KindTag, "shop", "summer"))
		}
		w.expectTags(1, "marketer_tags:summer")
	},
	"a unit that a manifest attaches and the item names": func(w *world) {
		w.serve()
		d := unitRule("sandals", "", []item.ID{1})
		w.accept(d)
		w.put(newItem(1, attached(unitID("sandals"))))
		w.expectUnits(1, unitID("sandals"))
		w.accept(unitRule("sandals", "", nil))
		w.expectUnits(1, unitID("sandals"))
		w.remove(d.Owner)
		w.expectUnits(1)
		w.accept(d)
		w.expectUnits(1, unitID("sandals"))
	},
	"removal returns the number of removed definitions": func(w *world) {
		w.serve()
		w.accept(filter("a", "*:*"), filter("b", "*:*"))
		n := w.remove(owner(library.KindFilter, "shop", "a"), owner(library.KindFilter, "shop", "none"), library.Owner{})
		w.equal("removed", n, 1)
		if _, err := w.lib.Filter(shop, *ref(filter("b", ""))); err != nil {
			w.Errorf("the other filter: %v", err)
		}
	},
	"the same name in several kinds": func(w *world) {
		w.serve()
		w.accept(filter("summer", "*:*"), tagRule("summer", "", nil), unitRule("summer", "", nil))
		w.remove(owner(library.KindTag, "shop", "summer"))
		if _, err := w.lib.Filter(shop, *ref(filter("summer", ""))); err != nil {
			w.Errorf("the filter of that name: %v", err)
		}
		if _, err := w.lib.Unit(shop, unitID("summer")); err != nil {
			w.Errorf("the unit of that name: %v", err)
		}
	},
	"HasTag includes tags that no item carries": func(w *world) {
		w.serve()
		expect := func(what, key string, want bool) {
			got, err := w.lib.HasTag(shop, item.Tag{Namespace: "marketer_tags", Key: key})
			if err != nil {
				w.Fatal(err)
			}
			w.equal(what, got, want)
		}
		expect("never made", "summer", false)
		w.put(newItem(1, tagged("marketer_tags", "own")))
		w.tag("marketer_tags", "mapped", 1)
		w.tag("marketer_tags", "nothing")
		d := tagRule("summer", "", nil)
		w.accept(d)
		w.remove(d.Owner)
		w.untag("mapped", 1)
		w.erase(1)
		for _, key := range []string{"own", "mapped", "nothing", "summer"} {
			expect(key, key, true)
		}
		expect("another one", "winter", false)
	},
}

var sweepTests = map[string]func(*world){
	"removes definitions in scope that are not kept": func(w *world) {
		w.serve()
		elsewhere := filter("other cluster", "*:*")
		elsewhere.Owner.Install = "another cluster"
		w.accept(filter("kept", "*:*"), filter("gone", "*:*"), tagRule("summer", "", nil), elsewhere, httpFilter("HTTP", "*:*"))
		far := filter("far", "*:*")
		far.Owner.Namespace = "wall"
		w.accept(far)
		scope := library.Scope{Install: install, Kinds: []library.Kind{library.KindFilter}, Namespaces: []string{"shop"}}
		known, err := w.lib.Owners(w.ctx(), scope)
		if err != nil {
			w.Fatal(err)
		}
		w.equal("in scope", len(known), 2)
		n, err := w.lib.Sweep(w.ctx(), scope, []library.Owner{owner(library.KindFilter, "shop", "kept")})
		if err != nil {
			w.Fatal(err)
		}
		w.equal("removed", n, 1)
		_, total, err := w.lib.Filters(shop, 0, 0)
		if err != nil {
			w.Fatal(err)
		}
		w.equal("filters left", total, 4)
		if _, err := w.lib.Definition(w.ctx(), owner(library.KindTag, "shop", "summer")); err != nil {
			w.Errorf("a tag, which is not in scope: %v", err)
		}
	},
	"is held when it would remove too much": func(w *world) {
		w.serve()
		var defs []library.Definition
		for i := range 30 {
			defs = append(defs, filter(fmt.Sprintf("f%d", i), "*:*"))
		}
		w.accept(defs...)
		scope := library.Scope{Install: install, Kinds: []library.Kind{library.KindFilter}}
		keep := []library.Owner{}
		for _, d := range defs[:5] {
			keep = append(keep, d.Owner)
		}
		_, err := w.lib.Sweep(w.ctx(), scope, keep)
		held := errorAs[*library.HeldError](w, "25 of 30", err)
		if held != nil {
			w.equal("the guard", *held, library.HeldError{Remove: 25, Total: 30})
		}
		if _, total, _ := w.lib.Filters(shop, 0, 0); total != 30 {
			w.Errorf("%d filters left by a held sweep, want 30", total)
		}
		scope.Confirmed = true
		n, err := w.lib.Sweep(w.ctx(), scope, keep)
		if err != nil || n != 25 {
			w.Errorf("confirmed: removed %d (%v), want 25", n, err)
		}
	},
	"requires an install": func(w *world) {
		w.serve()
		_, err := w.lib.Sweep(w.ctx(), library.Scope{Kinds: []library.Kind{library.KindProperty}}, nil)
		w.errorIs("without install", err, library.ErrInvalid)
		if n, err := w.lib.Sweep(w.ctx(), library.Scope{Install: install}, nil); n != 0 || err != nil {
			w.Errorf("without kinds: removed %d (%v)", n, err)
		}
	},
}

var propertyTests = map[string]func(*world){
	"a deleted property is not served, and returns with all its data": func(w *world) {
		w.serve()
		w.accept(filter("wall", "*:*"), unitRule("sandals", "", []item.ID{1}), httpFilter("HTTP", "beach"))
		w.put(newItem(1, text("beach"), tagged("marketer_tags", "own")), newItem(2))
		w.remove(property(shop).Owner)
		_, err := w.lib.Read(w.ctx(), w.search("*:*"))
		w.errorIs("reading", err, library.ErrNotFound)
		_, err = w.lib.Write(w.ctx(), shop, []library.Mutation{{Put: newItem(3)}})
		w.errorIs("writing", err, library.ErrNoProperty)
		_, err = w.lib.Property(shop)
		w.errorIs("its settings", err, library.ErrNotFound)
		_, _, err = w.lib.Filters(shop, 0, 0)
		w.errorIs("its filters", err, library.ErrNotFound)
		_, _, err = w.lib.ShortLink(w.ctx(), "code1")
		w.errorIs("its short links", err, library.ErrNotFound)
		w.equal("served properties", len(w.lib.Properties()), 0)
		w.equal("items stored", w.lib.State(w.ctx()).PropertyItems[shop], int64(2))

		w.restart()
		w.serve()
		w.finds("*:*", 1, 2)
		w.expectUnits(1, unitID("sandals"))
		w.expectTags(1, "marketer_tags:own")
		_, total, err := w.lib.Filters(shop, 0, 0)
		if err != nil || total != 2 {
			w.Errorf("%d filters (%v), want both", total, err)
		}
		w.put(&item.Item{Content: item.Content{ContentType: item.Image}})
		w.finds("*:*", 1, 2, 3)
	},
	"two properties are isolated": func(w *world) {
		w.accept(property(shop), property(wall))
		w.put(newItem(1, text("beach")))
		if _, err := w.lib.Write(w.ctx(), wall, []library.Mutation{{Put: newItem(1, text("city"))}, {Put: newItem(2, text("beach"))}}); err != nil {
			w.Fatal(err)
		}
		w.accept(tagRule("summer", "beach", []item.ID{2}), filter("wall", "*:*"), unitRule("sandals", "*:*", nil, byDefault))
		w.finds("beach", 1)
		r := w.search("*:*")
		r.Property = wall
		w.expect("the other property", r, 2, 1)
		tags, err := w.lib.ItemTags(w.ctx(), wall, 2)
		if err != nil || len(tags) != 0 {
			w.Errorf("tags in the other property: %v (%v)", tags, err)
		}
		for _, it := range w.items(w.page(r)) {
			if len(it.Units) != 0 || it.Default.ID != 0 {
				w.Errorf("item %d of the other property shows %v and %v", it.ID, it.Units, it.Default)
			}
		}
		_, err = w.lib.Filter(wall, *ref(filter("wall", "")))
		w.errorIs("a filter by the other property", err, library.ErrNotFound)
		_, err = w.lib.Unit(wall, unitID("sandals"))
		w.errorIs("a unit by the other property", err, library.ErrNotFound)
		_, err = w.lib.Read(w.ctx(), library.Read{Property: wall, Filter: ref(filter("wall", "")), Limit: 1})
		w.errorIs("listing it", err, library.ErrNotFound)
		if n := w.lib.State(w.ctx()).PropertyItems; n[shop] != 1 || n[wall] != 2 {
			w.Errorf("items by property: %v", n)
		}
	},
	"purge erases a property without a manifest": func(w *world) {
		w.accept(property(shop), property(wall))
		w.put(newItem(1))
		w.accept(httpFilter("HTTP", "*:*"))
		if _, err := w.lib.Write(w.ctx(), wall, []library.Mutation{{Put: newItem(1)}}); err != nil {
			w.Fatal(err)
		}
		wantError[*library.ManagedError](w, "while its manifest exists", w.lib.Purge(w.ctx(), shop))
		w.finds("*:*", 1)
		w.remove(property(shop).Owner)
		if err := w.lib.Purge(w.ctx(), shop); err != nil {
			w.Fatal(err)
		}
		w.errorIs("a second time", w.lib.Purge(w.ctx(), shop), library.ErrNotFound)
		stored := w.lib.State(w.ctx()).PropertyItems
		if _, still := stored[shop]; still || stored[wall] != 1 {
			w.Errorf("stored %v, want the other property alone", stored)
		}
		w.serve()
		w.finds("*:*")
		if _, total, err := w.lib.Filters(shop, 0, 0); total != 0 || err != nil {
			w.Errorf("%d filters (%v) after the purge", total, err)
		}
	},
	"properties whose names are at the limits of Kubernetes": func(w *world) {
		long := strings.Repeat("n", 63)
		var all []library.PropertyID
		for _, name := range []string{
			"0", "0.1.2", "x.y-z", strings.Repeat("n", 62), long, long + "0", strings.Repeat("n", 126), strings.Repeat("n.", 126) + "n",
			strings.Repeat("n.", 126) + "m",
		} {
			all = append(all, library.PropertyID("n/"+name), library.PropertyID(long+"/"+name))
		}
		for _, p := range all {
			d := property(shop)
			d.Property = p
			d.Owner.Namespace, d.Owner.Name, _ = strings.Cut(string(p), "/")
			w.accept(d)
		}
		served := func(n int64) {
			w.Helper()
			if s := w.lib.State(w.ctx()); !s.Ready || len(s.Troubles) != 0 || s.Items != n*int64(len(all)) {
				w.Errorf("the state is %+v, want no trouble and %d items in each property", s, n)
			}
			for _, p := range all {
				r := w.search("*:*")
				r.Property = p
				if got := w.page(r).Total; got != n {
					w.Errorf("property %s has %d items, want %d", p, got, n)
				}
			}
		}
		served(0)
		for i, p := range all {
			if _, err := w.lib.Write(w.ctx(), p, []library.Mutation{{Put: newItem(item.ID(i + 1))}}); err != nil {
				w.Fatal(err)
			}
		}
		served(1)
		w.restart()
		served(1)
	},
	"settings": func(w *world) {
		d := property(shop)
		d.PropertySpec.AllowedOrigins = []string{"https://shop.example"}
		w.accept(d, property(wall))
		got, err := w.lib.Property(shop)
		if err != nil {
			w.Fatal(err)
		}
		w.equal("settings", got, *d.PropertySpec)
		w.equal("served", w.lib.Properties(), []library.PropertyID{shop, wall})
	},
}
