package librarytest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// changes reads changes of shop, and fails the test if that returns an error.
func (w *world) changes(after library.Position, limit int) *library.ItemChanges {
	w.Helper()
	out, err := w.lib.Changes(w.ctx(), library.ChangesRead{Property: shop, After: after, Limit: limit})
	if err != nil {
		w.Fatalf("changes after %q: %v", after, err)
	}
	if len(out.Next) == 0 || len(out.Next) > 64 {
		w.Errorf("the position %q has %d bytes", out.Next, len(out.Next))
	}
	return out
}

// position returns the position of now.
func (w *world) position() library.Position {
	w.Helper()
	out := w.changes("", 1)
	if len(out.Items) > 0 || out.Lost || out.More {
		w.Errorf("the position of now comes with changes: %+v", out)
	}
	return out.Next
}

// expectChanges compares the changes of shop after a position, and returns the position after them.
func (w *world) expectChanges(what string, after library.Position, want ...library.ChangedItem) library.Position {
	w.Helper()
	out := w.changes(after, 100)
	if out.Lost || out.More || !slices.Equal(out.Items, want) {
		w.Errorf("%s: %+v, want the items %v", what, out, want)
	}
	return out.Next
}

// expectLost checks that the changes after a position are unknown, and that the library offers the position of now instead.
func (w *world) expectLost(what string, after library.Position) {
	w.Helper()
	out := w.changes(after, 100)
	if !out.Lost || out.More || len(out.Items) > 0 {
		w.Errorf("%s: %+v, want a loss", what, out)
	}
	w.expectChanges(what+": the new position", out.Next)
}

// rules returns the rules of shop.
func (w *world) rules() library.FeedRules {
	w.Helper()
	rules, err := w.lib.Rules(shop)
	if err != nil {
		w.Fatalf("rules: %v", err)
	}
	return rules
}

// await starts a call of Changes that waits for a change of shop after now, and returns a function that returns its result.
func (w *world) await(ctx context.Context) func() (*library.ItemChanges, error) {
	w.Helper()
	r := library.ChangesRead{Property: shop, After: w.position(), Limit: 10, Wait: time.Hour}
	type answer struct {
		out *library.ItemChanges
		err error
	}
	answers, lib := make(chan answer, 1), w.lib
	go func() {
		out, err := lib.Changes(ctx, r)
		answers <- answer{out, err}
	}()
	return func() (*library.ItemChanges, error) {
		a := <-answers
		return a.out, a.err
	}
}

func public(id item.ID) library.ChangedItem  { return library.ChangedItem{ID: id} }
func private(id item.ID) library.ChangedItem { return library.ChangedItem{ID: id, Private: true} }

var changeTests = map[string]func(*world){
	"every change of an item's own data": func(w *world) {
		w.serve()
		w.accept(unitRule("sandals", "", nil), property(wall))
		at := w.position()
		step := func(what string, do func(), want ...library.ChangedItem) {
			w.Helper()
			do()
			at = w.expectChanges(what, at, want...)
		}
		step("no change", func() {})
		step("new items", func() { w.put(newItem(1)); w.put(newItem(2)) }, public(1), public(2))
		step("a patch", func() { w.patch(2, `{"campaign":12}`) }, public(2))
		step("a unit", func() { w.patch(1, `{"activate_units":[`+itoa(unitID("sandals"))+`]}`) }, public(1))
		step("a tag", func() { w.tag("marketer_tags", "beach", 1) }, public(1))
		step("a removed tag", func() { w.untag("beach", 1) }, public(1))
		step("a replaced item", func() { w.change(library.Mutation{Put: newItem(2, text("new")), Replace: true}) }, public(2))
		step("an import", func() {
			w.change(library.Mutation{Put: newItem(2, text("new")), Replace: true}, library.Mutation{Put: newItem(3), Replace: true})
		}, public(3))
		step("a deleted item", func() { w.erase(2) }, public(2))
		step("an item with the id of a deleted one", func() { w.put(newItem(2)) }, public(2))
		step("several changes of an item", func() { w.patch(1, `{"campaign":1}`); w.patch(1, `{"campaign":2}`) }, public(1))
		step("an item of another property", func() {
			if _, err := w.lib.Write(w.ctx(), wall, []library.Mutation{{Put: newItem(1, func(it *item.Item) { it.ShortCode = "other" })}}); err != nil {
				w.Fatal(err)
			}
		})
		step("an item that is created and deleted in one write", func() {
			w.change(library.Mutation{Put: newItem(9)}, library.Mutation{Delete: true, ID: 9})
		})
	},
	"nothing that leaves an item's own data as it is": func(w *world) {
		w.serve()
		w.put(newItem(1, tagged("marketer_tags", "beach")), newItem(2))
		at := w.position()
		w.patch(1, `{"approval_status":"app"}`)
		w.tag("marketer_tags", "beach", 1)
		w.change(
			library.Mutation{Put: newItem(2), Replace: true},
			library.Mutation{Patch: w.parsePatch(`{"approval_status":"app"}`), ID: 2, Reason: "checked again"})
		w.write(
			library.Mutation{Put: newItem(1, text("other"))},
			library.Mutation{Delete: true, ID: 99},
			library.Mutation{Patch: w.parsePatch(`{"activate_units":[99]}`), ID: 1})
		w.accept(tagRule("summer", "", []item.ID{1}), unitRule("sandals", "*:*", nil, byDefault), filter("wall", "*:*"))
		w.expectChanges("no change", at)
	},
	"private changes": func(w *world) {
		w.serve()
		w.put(newItem(1), newItem(2))
		ann, bob := `{"submission":{"email":"ann@mail.example"}}`, `{"submission":{"email":"bob@mail.example"}}`
		at := w.position()
		step := func(what string, do func(), want ...library.ChangedItem) {
			w.Helper()
			do()
			at = w.expectChanges(what, at, want...)
		}
		step("a submission", func() { w.patch(1, ann) }, private(1))
		step("another submission", func() { w.patch(1, bob) }, private(1))
		step("two submissions", func() { w.patch(1, ann); w.patch(1, bob) }, private(1))
		step("a removed submission", func() { w.patch(1, `{"submission":null}`) }, private(1))
		step("a submission and a text", func() { w.patch(1, `{"submission":{"email":"ann@mail.example"},"content":{"text":"new"}}`) }, public(1))
		step("a submission, then a text", func() { w.patch(1, bob); w.patch(1, `{"campaign":1}`) }, public(1))
		step("a text, then a submission", func() { w.patch(1, `{"campaign":2}`); w.patch(1, ann) }, public(1))
		step("a text and back in one write, and a submission", func() {
			w.change(
				library.Mutation{Patch: w.parsePatch(`{"campaign":3}`), ID: 1}, library.Mutation{Patch: w.parsePatch(bob), ID: 1},
				library.Mutation{Patch: w.parsePatch(`{"campaign":2}`), ID: 1})
		}, private(1))
		step("an imported submission", func() {
			w.change(library.Mutation{Put: newItem(2, submitted(`{"email":"ann@mail.example"}`)), Replace: true})
		}, public(2))
		step("another imported submission",
			func() {
				w.change(library.Mutation{Put: newItem(2, submitted(`{"email":"bob@mail.example"}`)), Replace: true})
			}, private(2))
		step("a new item with a submission", func() { w.put(newItem(3, submitted(`{"email":"ann@mail.example"}`))) }, public(3))
		step("a deleted item with a submission", func() { w.erase(3) }, public(3))
	},
	"order and pages": func(w *world) {
		w.serve()
		first := w.position()
		ids := []item.ID{5, 3, 8, 1, 9, 2}
		for _, id := range ids {
			w.put(newItem(id))
		}
		var want []library.ChangedItem
		for _, id := range ids {
			want = append(want, public(id))
		}
		w.expectChanges("all", first, want...)
		w.put(newItems(11, 30)...)
		out := w.changes(first, 4)
		w.equal("the first page", out.Items, want[:4])
		w.equal("more after the first page", out.More, true)
		seen, pages := map[item.ID]bool{}, 0
		for at, more := first, true; more; pages++ {
			out := w.changes(at, 1)
			if len(out.Items) > 1 || out.Lost {
				w.Fatalf("a page of one item: %+v", out)
			}
			for _, c := range out.Items {
				seen[c.ID] = true
			}
			at, more = out.Next, out.More
		}
		if len(seen) != len(ids)+20 || pages < len(seen) {
			w.Errorf("%d pages of one item contain %d items, want %d", pages, len(seen), len(ids)+20)
		}
	},
	"a read sees all changes": func(w *world) {
		w.serve()
		at := w.position()
		for n := range int64(20) {
			wait := w.await(w.ctx())
			w.put(newItem(n + 1))
			if _, err := wait(); err != nil {
				w.Fatal(err)
			}
			w.show(n + 1)
		}
		w.equal("the number of changes", len(w.changes(at, 100).Items), 20)
	},
	"waiting": func(w *world) {
		w.serve()
		out, err := w.lib.Changes(w.ctx(), library.ChangesRead{Property: shop, After: w.position(), Limit: 1, Wait: time.Millisecond})
		if err != nil || len(out.Items) > 0 || out.Lost || out.More {
			w.Errorf("nothing happens: %+v, %v", out, err)
		}
		w.expectChanges("after the wait", out.Next)
		wait := w.await(w.ctx())
		w.put(newItem(1))
		out, err = wait()
		if err != nil || !slices.Equal(out.Items, []library.ChangedItem{public(1)}) {
			w.Errorf("a write: %+v, %v", out, err)
		}
		stopped := errors.New("stopped")
		ctx, stop := context.WithCancelCause(w.ctx())
		wait = w.await(ctx)
		stop(stopped)
		_, err = wait()
		w.errorIs("the caller stops", err, stopped)
		wait = w.await(w.ctx())
		w.restart()
		_, err = wait()
		w.errorIs("the library closes", err, library.ErrClosed)
		wait = w.await(w.ctx())
		w.remove(property(shop).Owner)
		_, err = wait()
		w.errorIs("the property is removed", err, library.ErrNotFound)
	},
	"positions": func(w *world) {
		w.serve()
		at := w.position()
		w.put(newItem(1))
		w.restart()
		w.put(newItem(2))
		w.expectChanges("after a restart", at, public(1), public(2))
		w.expectLost("a text that is no position", "x")
		other := w.open(w.T, w.TempDir(), w.clock.Now)
		_, err := other.Apply(w.ctx(), []library.Definition{property(shop)})
		var foreign *library.ItemChanges
		if err == nil {
			foreign, err = other.Changes(w.ctx(), library.ChangesRead{Property: shop, Limit: 1})
		}
		if err := errors.Join(err, other.Close()); err != nil {
			w.Fatal(err)
		}
		w.expectLost("a position of another store", foreign.Next)
		for _, p := range []library.PropertyID{wall, "no/property"} {
			_, err = w.lib.Changes(w.ctx(), library.ChangesRead{Property: p, Limit: 1})
			w.errorIs("the changes of an unknown property", err, library.ErrNotFound)
			_, err = w.lib.Rules(p)
			w.errorIs("the rules of an unknown property", err, library.ErrNotFound)
		}
	},
	"a purge": func(w *world) {
		w.serve()
		w.put(newItem(1))
		at := w.position()
		w.remove(property(shop).Owner)
		w.serve()
		w.put(newItem(2))
		w.expectChanges("a property that was not served for a while", at, public(2))
		w.remove(property(shop).Owner)
		if err := w.lib.Purge(w.ctx(), shop); err != nil {
			w.Fatal(err)
		}
		w.serve()
		w.expectLost("after a purge", at)
		now := w.position()
		w.put(newItem(1))
		w.expectLost("after a purge and a write", at)
		w.expectChanges("since the purge", now, public(1))
	},
	"rules": func(w *world) {
		w.serve()
		w.accept(property(wall))
		first := w.rules()
		last := first.Digest
		keeps := func(what string, do func()) {
			w.Helper()
			do()
			w.equal(what+": the digest", w.rules().Digest, last)
		}
		moves := func(what string, do func()) {
			w.Helper()
			do()
			now := w.rules().Digest
			if now == last {
				w.Errorf("%s: the digest stays", what)
			}
			last = now
		}
		keeps("items", func() { w.put(newItem(1), newItem(2)); w.tag("marketer_tags", "hero", 1); w.erase(2) })
		keeps("a filter", func() { w.accept(filter("wall", "*:*")) })
		keeps("another query", func() { w.accept(filter("wall", "approval_status:app")) })
		keeps("a token", func() { w.accept(token("web", []byte{1})) })
		keeps("a tag of another property", func() { w.accept(tagRule("winter", "*:*", nil, ofWall)) })
		moves("a tag", func() { w.accept(tagRule("summer", "text:beach", []item.ID{1})) })
		moves("another selector", func() { w.accept(tagRule("summer", "text:sea", []item.ID{1})) })
		moves("another item", func() { w.accept(tagRule("summer", "text:sea", []item.ID{2})) })
		moves("a unit", func() { w.accept(unitRule("sandals", "", nil)) })
		moves("another name", func() {
			w.accept(unitRule("sandals", "", nil, func(d *library.Definition) { d.Unit.Unit.Name = "boots" }))
		})
		moves("items of a unit", func() { w.accept(unitRule("sandals", "*:*", nil)) })
		moves("a default unit", func() { w.accept(unitRule("sandals", "*:*", nil, byDefault)) })
		moves("an archived unit", func() { w.accept(unitRule("sandals", "*:*", nil, archived)) })
		w.equal("no rule is volatile", w.rules().Volatile, false)
		moves("a selector with the time", func() { w.accept(tagRule("summer", "created_on:[now-1d TO *]", nil)) })
		w.equal("a rule is volatile", w.rules().Volatile, true)
		keeps("a restart", w.restart)
		moves("no tag", func() { w.remove(tagRule("summer", "", nil).Owner) })
		moves("no unit", func() { w.remove(unitRule("sandals", "", nil).Owner) })
		w.equal("the rules of the beginning", w.rules(), first)
	},
}
