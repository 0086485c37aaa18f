package librarytest

import (
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// modified sets the time of the last change with which an item comes.
func modified(s string) option { return func(it *item.Item) { it.LastModified = s } }

// expectModified compares the times of the last change of items 1, 2, … of shop. It also checks that a query finds the items by these times.
func (w *world) expectModified(what string, want ...string) {
	w.Helper()
	byTime := map[string][]item.ID{}
	for i, t := range want {
		id := item.ID(i + 1)
		if got := w.show(id).Modified; got != t {
			w.Errorf("%s: last_modified of item %d is %s, want %s", what, id, got, t)
		}
		byTime[t] = append(byTime[t], id)
	}
	for t, ids := range byTime {
		w.finds(`last_modified:"`+t+`"`, ids...)
	}
}

var modifiedTests = map[string]func(*world){
	"every change of an item's own data": func(w *world) {
		w.serve()
		w.accept(unitRule("sandals", "", nil))
		beach := item.Tag{Namespace: "vibe", Key: "beach"}
		moves := func(what string, m library.Mutation) {
			w.Helper()
			w.clock.Advance(1500 * time.Millisecond)
			w.change(m)
			w.expectModified(what, w.clock.Now().Format(time.RFC3339Nano), start.Format(time.RFC3339Nano))
		}
		w.put(newItem(1), newItem(2))
		w.expectModified("new items", start.Format(time.RFC3339Nano), start.Format(time.RFC3339Nano))
		moves("a patch", library.Mutation{Patch: w.parsePatch(`{"campaign":12}`), ID: 1})
		moves("a submission", library.Mutation{Patch: w.parsePatch(`{"submission":{"email":"ann@mail.example"}}`), ID: 1})
		moves("a unit", library.Mutation{Patch: w.parsePatch(`{"activate_units":[` + itoa(unitID("sandals")) + `]}`), ID: 1})
		moves("a tag", library.Mutation{Tag: &beach, IDs: []item.ID{1}})
		moves("a removed tag", library.Mutation{Untag: &beach, IDs: []item.ID{1}})
		moves("a new short code", library.Mutation{Put: newItem(1, func(it *item.Item) { it.ShortCode = "other" }), Replace: true})
		moves("a replaced item", library.Mutation{Put: newItem(1, text("new"), modified("2020")), Replace: true})
		w.erase(1)
		moves("an item with the id of a deleted one", library.Mutation{Put: newItem(1, modified("2020"))})
		w.restart()
		w.expectModified("after a restart", w.clock.Now().Format(time.RFC3339Nano), start.Format(time.RFC3339Nano))
	},
	"nothing that leaves an item's own data as it is": func(w *world) {
		w.serve()
		w.put(newItem(1, tagged("vibe", "beach")), newItem(2, tagged("vibe", "beach")))
		before := w.digest()
		w.clock.Advance(time.Hour)
		w.patch(1, `{"approval_status":"app"}`)
		w.patch(1, `{"last_modified":"2020-01-01T00:00:00Z"}`)
		w.tag("vibe", "beach", 1, 2)
		w.change(
			library.Mutation{Put: newItem(2, tagged("vibe", "beach"), modified("2020")), Replace: true},
			library.Mutation{Patch: w.parsePatch(`{"approval_status":"app"}`), ID: 2, Reason: "checked again"})
		w.write(
			library.Mutation{Put: newItem(1, text("other"))},
			library.Mutation{Patch: w.parsePatch(`{"activate_units":[99]}`), ID: 1})
		w.accept(tagRule("summer", "", []item.ID{1}), unitRule("sandals", "*:*", nil, byDefault))
		w.accept(tagRule("summer", "*:*", nil))
		w.remove(tagRule("summer", "", nil).Owner)
		w.expectModified("no change", start.Format(time.RFC3339Nano), start.Format(time.RFC3339Nano))
		w.equal("the digest of item 1", w.digest(), before)
	},
	"a later time for each change": func(w *world) {
		w.serve()
		w.put(newItem(1))
		w.patch(1, `{"campaign":1}`)
		w.change(
			library.Mutation{Patch: w.parsePatch(`{"campaign":2}`), ID: 1},
			library.Mutation{Patch: w.parsePatch(`{"campaign":2}`), ID: 1},
			library.Mutation{Patch: w.parsePatch(`{"campaign":3}`), ID: 1})
		w.expectModified("three changes in a millisecond", "2026-11-21T12:00:00.003Z")
		w.clock.Advance(-time.Minute)
		w.patch(1, `{"campaign":4}`)
		w.expectModified("a clock that goes back", "2026-11-21T12:00:00.004Z")
		w.clock.Advance(time.Minute + 12*time.Millisecond + 345*time.Microsecond)
		w.patch(1, `{"campaign":5}`)
		w.expectModified("a later change", "2026-11-21T12:00:00.012Z")
	},
	"queries and orders": func(w *world) {
		w.serve()
		for id := item.ID(1); id <= 4; id++ {
			w.put(newItem(id))
			w.clock.Advance(time.Hour)
		}
		w.patch(2, `{"campaign":12}`) // at 16:00
		w.finds("last_modified:[2026-11-21T14:00:00Z TO *]", 2, 3, 4)
		w.finds(`last_modified:>"2026-11-21T15:00:00Z"`, 2)
		w.finds("last_modified:[now-90m TO now]", 2, 4)
		w.finds("_exists_:last_modified", 1, 2, 3, 4)
		w.finds(`last\*:"2026-11-21T12:00:00Z"`, 1)
		for sort, want := range map[string][]item.ID{"last_modified:desc": {2, 4, 3, 1}, "last_modified:asc": {1, 3, 4, 2}} {
			r := w.search("*:*")
			r.Order = w.order(sort)
			w.expect(sort, r, want...)
			r.Limit = 3
			r.After = w.page(r).Next
			w.expect(sort+", the second page", r, want[3])
		}
	},
	"only for READ-WRITE tokens": func(w *world) {
		w.serve()
		w.put(newItem(1))
		w.clock.Advance(time.Hour)
		w.put(newItem(2), newItem(3, created("2020-01-01T00:00:00Z")))
		for what, change := range map[string]func(*library.Read){
			"a query":     func(r *library.Read) { r.Query = w.query("last_modified:[2026 TO *]") },
			"a pattern":   func(r *library.Read) { r.Query = w.query(`last_modified\*:[2026 TO *]`) },
			"exists":      func(r *library.Read) { r.Query = w.query("_exists_:last_modified") },
			"a condition": func(r *library.Read) { r.Where = w.query("last_modified:[2026 TO *]") },
			"an order":    func(r *library.Read) { r.Order = w.order("last_modified:asc") },
		} {
			r := w.search("*:*")
			r.Audience = query.Public
			change(&r)
			_, err := w.lib.Read(w.ctx(), r)
			wantError[*query.ForbiddenFieldError](w, what, err)
		}
		r := w.search(`last\*:[2026 TO *] \*modified:[2026 TO *]`)
		w.expect("patterns with all rights", r, 2, 1, 3)
		r.Audience = query.Public
		w.expect("patterns match no private field", r)
		w.accept(filter("wall", "last_modified:[2026 TO *]", order("last_modified:desc")))
		r = library.Read{Property: shop, Filter: ref(filter("wall", "")), Limit: 10}
		w.expect("a filter whose author uses it", r, 2, 3, 1)
		for _, it := range w.items(w.page(r)) {
			if it.Modified != "" {
				w.Errorf("item %d shows a READ-ONLY caller when it last changed: %s", it.ID, it.Modified)
			}
		}
	},
	"times of an import into an empty property": func(w *world) {
		w.serve()
		w.put(newItem(1, modified("2020-02-03T04:05:06.789Z")), newItem(2, modified("2021")))
		w.restart()
		w.put(newItem(3, modified("2026-11-21T12:00:00Z")), newItem(4, modified("2026-11-21T12:00:00.001Z")))
		w.change(library.Mutation{Put: newItem(3, modified("2026-11-21T12:00:00Z")), Replace: true}) // again, after a lost response
		w.erase(2)
		w.put(newItem(2, modified("2022-12")))
		imported := []string{"2020-02-03T04:05:06.789Z", "2022-12", "2026-11-21T12:00:00Z", "2026-11-21T12:00:00Z"}
		w.expectModified("imported, and not later than now", imported...)
		w.patch(1, `{"campaign":12}`)
		imported[0] = "2026-11-21T12:00:00Z"
		w.put(newItem(5, modified("2020")))
		w.expectModified("after a change", append(imported, "2026-11-21T12:00:00Z")...)
		w.restart()
		w.put(newItem(6, modified("2020")))
		w.erase(1, 2, 3, 4, 5, 6)
		w.put(newItem(1, modified("2020")))
		w.expectModified("in a property that had other items", "2026-11-21T12:00:00Z")
		w.remove(property(shop).Owner)
		if err := w.lib.Purge(w.ctx(), shop); err != nil {
			w.Fatal(err)
		}
		w.serve()
		w.put(newItem(1, modified("2020")))
		w.expectModified("after a purge", "2020")
	},
	"times of an import after an item without one": func(w *world) {
		w.serve()
		w.put(newItem(1, modified("2020")), newItem(2), newItem(3, modified("2020")))
		w.expectModified("three items", "2020", "2026-11-21T12:00:00Z", "2026-11-21T12:00:00Z")
	},
}
