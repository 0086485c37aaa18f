package librarytest

import (
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

var ruleTests = map[string]func(*world){
	"a tag by id, now and later": func(w *world) {
		w.serve()
		w.put(newItem(1))
		d := tagRule("summer", "", []item.ID{1, 2})
		w.accept(d)
		w.finds("tags.marketer_tags.key:summer", 1)
		w.put(newItem(2), newItem(3))
		w.finds("tags.marketer_tags.key:summer", 1, 2)
		w.erase(2)
		w.put(newItem(2))
		w.finds("tags.marketer_tags.key:summer", 1, 2)
		w.accept(tagRule("summer", "", []item.ID{3}))
		w.finds("tags.marketer_tags.key:summer", 3)
		w.remove(d.Owner)
		w.finds("tags.marketer_tags.key:summer")
		w.expectTags(3)
	},
	"a tag by rule, now and later": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach")), newItem(2, text("city")))
		d := tagRule("summer", "text:(beach OR sunset) AND approval_status:app", []item.ID{2})
		w.accept(d)
		w.finds("tags.marketer_tags.key:summer", 1, 2)
		w.put(newItem(3, text("sunset")), newItem(4, text("sunset"), status(item.Pending)))
		w.finds("tags.marketer_tags.key:summer", 1, 2, 3)
		w.patch(4, `{"approval_status": "app"}`)
		w.patch(1, `{"content": {"text": "winter"}}`)
		w.finds("tags.marketer_tags.key:summer", 2, 3, 4)
		w.expectTags(4, "marketer_tags:summer")
		w.expectTags(1)
		w.accept(tagRule("summer", "city", nil))
		w.finds("tags.marketer_tags.key:summer", 2)
		w.remove(d.Owner)
		w.finds("tags.marketer_tags.key:summer")
		w.finds("_exists_:tags")
	},
	"units by id and by rule": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach")), newItem(2), newItem(3, text("beach")))
		d := unitRule("sandals", "beach", []item.ID{2})
		w.accept(d)
		for id := item.ID(1); id <= 3; id++ {
			w.expectUnits(id, unitID("sandals"))
		}
		w.finds("activate_units.name:sandals", 1, 2, 3)
		w.finds("activate_units.id:"+itoa(unitID("sandals")), 1, 2, 3)
		w.equal("it is managed", w.show(1).Units[0].Managed, true)
		w.put(newItem(4, text("beach")))
		w.expectUnits(4, unitID("sandals"))
		w.remove(d.Owner)
		w.expectUnits(1)
		w.finds("_exists_:activate_units.id")
		_, err := w.lib.Unit(shop, unitID("sandals"))
		w.errorIs("the unit itself", err, library.ErrNotFound)
	},
	"a unit by a tag": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach")), newItem(2))
		w.accept(unitRule("sandals", "tags.marketer_tags.key:summer", nil), tagRule("summer", "beach", nil))
		w.expectUnits(1, unitID("sandals"))
		w.expectUnits(2)
		w.tag("marketer_tags", "summer", 2)
		w.expectUnits(2, unitID("sandals"))
		w.untag("summer", 2)
		w.expectUnits(2)
		w.accept(tagRule("summer", "city", nil))
		w.expectUnits(1)
		w.accept(tagRule("summer", "", []item.ID{2}))
		w.expectUnits(2, unitID("sandals"))
		w.remove(owner(library.KindTag, "shop", "summer"))
		w.expectUnits(2)
	},
	"own units first, then those of manifests by id": func(w *world) {
		w.serve()
		w.put(newItem(1))
		w.accept(unitRule("a", "", []item.ID{1}), unitRule("b", "", []item.ID{1}), unitRule("c", "", []item.ID{1}), unitRule("own", "", nil))
		w.patch(1, `{"activate_units": [`+itoa(unitID("own"))+`]}`)
		rest := []int64{unitID("a"), unitID("b"), unitID("c")}
		sortIDs(rest)
		w.expectUnits(1, append([]int64{unitID("own")}, rest...)...)
	},
	"items show a renamed unit": func(w *world) {
		w.serve()
		w.put(newItem(1))
		d := unitRule("sandals", "", []item.ID{1})
		w.accept(d)
		before := w.page(w.search("*:*")).Version
		renamed := unitRule("sandals", "", []item.ID{1})
		renamed.Unit.Unit.Name = "Shop the boots"
		w.accept(renamed)
		w.equal("the new name", w.show(1).Units[0].Name, "Shop the boots")
		w.equal("in the default unit too", w.show(1).Default.Name, "Shop the boots")
		w.finds("activate_units.name:boots", 1)
		w.finds("activate_units.name:sandals")
		if w.page(w.search("*:*")).Version == before {
			w.Error("the version is the same, and the bytes are not")
		}
		w.accept(unitRule("sandals", "", []item.ID{1}, archived))
		w.finds("activate_units.archived:true", 1)
	},
	"the default unit": func(w *world) {
		w.serve()
		w.put(newItem(1), newItem(2))
		w.equal("none", w.show(1).Default, shownUnit{Name: "none", Archived: true})
		w.accept(unitRule("house", "", nil, byDefault), unitRule("old", "", []item.ID{1}, archived), unitRule("live", "", []item.ID{2}))
		w.equal("the property's, where the item's own is archived", w.show(1).Default.ID, unitID("house"))
		w.equal("the item's own", w.show(2).Default.ID, unitID("live"))
		w.finds("default_activate_unit.name:house", 1)
		w.put(newItem(3))
		w.finds("default_activate_unit.name:house", 1, 3)
		w.accept(unitRule("house", "", nil))
		w.equal("none again", w.show(1).Default.ID, int64(0))
		w.finds("default_activate_unit.name:house")
	},
	"a rule with now moves with the clock": func(w *world) {
		w.serve()
		w.put(newItem(1, created("2026-11-21T11:30:00Z")), newItem(2, created("2026-11-21T10:00:00Z")), newItem(3, created("2026-11-21T12:30:00Z")))
		w.accept(tagRule("fresh", "created_on:[now-1h TO now]", nil), unitRule("sandals", "tags.marketer_tags.key:fresh", nil))
		w.expectTags(1, "marketer_tags:fresh")
		w.finds("tags.marketer_tags.key:fresh", 1)
		w.expectUnits(1, unitID("sandals"))
		w.expectUnits(3)
		w.clock.Advance(30 * time.Minute)
		w.finds("tags.marketer_tags.key:fresh", 1, 3)
		w.expectUnits(3, unitID("sandals"))
		w.clock.Advance(time.Second)
		w.finds("tags.marketer_tags.key:fresh", 3)
		w.expectUnits(1)
		w.put(newItem(4, created("2026-11-21T12:10:00Z")))
		w.expectTags(4, "marketer_tags:fresh")
		w.clock.Advance(24 * time.Hour)
		w.expectTags(4)
		w.finds("tags.marketer_tags.key:fresh")
		r := w.search("tags.marketer_tags.key:fresh")
		r.Now = start
		w.expect("as of the start", r, 1)
	},
	"a rule may be a fuzzy word": func(w *world) {
		w.serve()
		w.accept(tagRule("summer", "beach~1", nil))
		w.put(newItem(1, text("beech")), newItem(2, text("beaches")))
		w.finds("tags.marketer_tags.key:summer", 1)
		w.put(newItem(3, text("beah")))
		w.finds("tags.marketer_tags.key:summer", 1, 3)
	},
	"two manifests, one item": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach sunset"), tagged("vibe", "bold")))
		w.accept(tagRule("summer", "beach", nil), tagRule("evening", "sunset", nil))
		w.expectTags(1, "marketer_tags:evening", "marketer_tags:summer", "vibe:bold")
		w.remove(owner(library.KindTag, "shop", "summer"))
		w.expectTags(1, "marketer_tags:evening", "vibe:bold")
	},
	"units made with items": func(w *world) {
		w.serve()
		u := item.Unit{ID: 77, Name: "Boots", ImageURL: "https://cdn.example/b.png", ClickThroughURL: "https://shop.example/b", CreatedOn: "2026-01-01T00:00:00Z"}
		w.change(library.Mutation{Put: newItem(1, attached(77)), Units: []item.Unit{u}})
		got, err := w.lib.Unit(shop, 77)
		if err != nil {
			w.Fatal(err)
		}
		w.equal("its name", got.Name, "Boots")
		w.equal("made over HTTP", got.Managed, false)
		u.Name = "Another"
		w.change(library.Mutation{Put: newItem(2, attached(77)), Units: []item.Unit{u}})
		w.equal("an existing unit stays unchanged", w.show(2).Units[0].Name, "Boots")
		w.put(newItem(3, attached(77)))
		w.expectUnits(3, 77)
		w.accept(unitRule("sandals", "", nil))
		units, err := w.lib.Units(shop)
		if err != nil || len(units) != 2 || units[0].ID != 77 {
			w.Errorf("units %v (%v), want both by id", units, err)
		}
		managed := item.Unit{ID: unitID("later"), Managed: true}
		w.change(library.Mutation{Put: newItem(4, attached(managed.ID)), Units: []item.Unit{managed}})
		w.expectUnits(4)
		w.accept(unitRule("later", "", nil))
		w.expectUnits(4, managed.ID)
	},
	"imported units that are managed": func(w *world) {
		w.serve()
		u := item.Unit{ID: unitID("sandals"), Name: "Imported", ImageURL: "https://cdn.example/i.png", Managed: true, CreatedOn: "2026-01-01T00:00:00Z"}
		w.change(library.Mutation{Put: newItem(1, attached(u.ID)), Units: []item.Unit{u}})
		shows := func(what, name string) {
			w.Helper()
			got, err := w.lib.Unit(shop, u.ID)
			if err != nil {
				w.Fatalf("%s: %v", what, err)
			}
			w.equal(what+": its name", got.Name, name)
			w.equal(what+": managed", got.Managed, true)
			w.expectUnits(1, u.ID)
			w.equal(what+": on its item", w.show(1).Units[0].Name, name)
		}
		shows("before its manifest", "Imported")
		w.accept(unitRule("sandals", "", nil))
		shows("with its manifest", "sandals")
		w.restart()
		shows("after a restart", "sandals")
		w.remove(owner(library.KindUnit, "shop", "sandals"))
		shows("after its manifest", "Imported")

		nameless := item.Unit{ID: 78, ExternalID: "SKU-78", Managed: true}
		refused := w.write(library.Mutation{Put: newItem(2, attached(78)), Units: []item.Unit{nameless}})
		wantError[*item.InvalidError](w, "a unit without a name", refused[0].Err)
	},
}
