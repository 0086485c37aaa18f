package librarytest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// jane is the actor in most of the tests.
var jane = library.Actor{Token: "shop/editor", User: "jane"}

// keeping is a property shop that keeps n entries in each history.
func keeping(n int) library.Definition {
	d := property(shop)
	d.PropertySpec.History = &n
	return d
}

// history returns the history of an item of shop.
func (w *world) history(id item.ID) []library.HistoryEntry {
	w.Helper()
	entries, err := w.lib.History(w.ctx(), shop, id)
	if err != nil {
		w.Fatalf("history of item %d: %v", id, err)
	}
	return entries
}

// expectHistory compares the history of an item with lines of the form "ACTION MEMBER: FROM > TO, …".
func (w *world) expectHistory(what string, id item.ID, want ...string) {
	w.Helper()
	value := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	got := []string{}
	for _, e := range w.history(id) {
		var changes []string
		for _, c := range e.Changes {
			changes = append(changes, fmt.Sprintf("%s: %s > %s", c.Member, value(c.From), value(c.To)))
		}
		got = append(got, strings.TrimSpace(string(e.Action)+" "+strings.Join(changes, ", ")))
	}
	if !slices.Equal(got, want) && len(got)+len(want) > 0 {
		w.Errorf("%s: the history of item %d is\n\t%s\nwant\n\t%s", what, id, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

var historyTests = map[string]func(*world){
	"an entry for each change": func(w *world) {
		w.serve()
		beach := item.Tag{Namespace: "vibe", Key: "beach"}
		w.change(library.Mutation{Put: newItem(1, text("old"), status(item.Pending)), By: jane})
		w.expectHistory("a new item", 1, "create")
		w.clock.Advance(90 * time.Second)
		w.change(library.Mutation{Patch: w.parsePatch(`{"approval_status":"rej","content":{"text":"new"}}`), ID: 1, By: jane, Reason: "blurred"})
		e := w.history(1)[0]
		w.equal("the time", e.Time, start.Add(90*time.Second))
		w.equal("the actor", e.By, jane)
		w.equal("the reason", e.Reason, "blurred")
		other := library.Actor{Token: "shop/import"}
		w.change(library.Mutation{Tag: &beach, IDs: []item.ID{1}, By: other}, library.Mutation{Untag: &beach, IDs: []item.ID{1}, By: other})
		w.change(library.Mutation{Put: newItem(1, text("new"), campaign(12), platform("instagram"), reference("p1")), Replace: true, By: other})
		want := []string{
			"replace approval_status: rej > app, campaign: - > 12, content.platform_ref:instagram: - > p1, content.social_platform: - > instagram",
			"untag tags: vibe:beach > -",
			"tag tags: - > vibe:beach",
			"change approval_status: pen > rej, content.text: old > new",
			"create",
		}
		w.expectHistory("after all changes", 1, want...)
		w.equal("another actor", w.history(1)[0].By, other)
		before := w.history(1)
		w.restart()
		w.equal("the history after a restart", w.history(1), before)
	},
	"nothing for what changes nothing": func(w *world) {
		w.serve()
		w.put(newItem(1, tagged("vibe", "beach")), newItem(2))
		first := w.digest()
		w.patch(1, `{"approval_status":"app"}`)
		w.tag("vibe", "beach", 1, 2)
		w.change(library.Mutation{Put: newItem(2, tagged("vibe", "beach")), Replace: true})
		w.patch(2, `{"approval_status":"rej"}`)
		w.write(
			library.Mutation{Put: newItem(1, text("other"))},
			library.Mutation{Patch: w.parsePatch(`{"activate_units":[99]}`), ID: 1},
			library.Mutation{Untag: &item.Tag{Namespace: "vibe", Key: "other"}, IDs: []item.ID{1, 2}})
		w.accept(tagRule("summer", "", []item.ID{1}), unitRule("sandals", "*:*", nil))
		w.equal("the digest of item 1", w.digest(), first)
		w.expectHistory("no-op, refused changes and manifests", 1, "create")
		w.expectHistory("beside no-op changes", 2, "change approval_status: app > rej", "tag tags: - > vibe:beach", "create")
		w.change(library.Mutation{Patch: w.parsePatch(`{"approval_status":"rej"}`), ID: 2, Reason: "still blurred"})
		w.equal("a reason alone", w.history(2)[0].Reason, "still blurred")
	},
	"names but no values of submissions": func(w *world) {
		w.serve()
		w.put(newItem(1, submitted(`{"email":"jane@mail.example","size":"42"}`)))
		w.patch(1, `{"submission":{"email":"joe@mail.example","note":"secret-note"}}`)
		w.patch(1, `{"submission":null}`)
		w.expectHistory("the changes", 1,
			"change submission.email: - > -, submission.note: - > -, submission.size: - > -",
			"change submission.email: - > -, submission.note: - > -", "create")
		all, err := json.Marshal(w.history(1))
		if err != nil {
			w.Fatal(err)
		}
		for _, secret := range []string{"mail.example", "42", "secret"} {
			if strings.Contains(string(all), secret) {
				w.Errorf("the history contains %s: %s", secret, all)
			}
		}
	},
	"values are cut": func(w *world) {
		w.serve()
		w.put(newItem(1))
		w.patch(1, `{"content":{"text":"`+strings.Repeat("é", 150)+`"}}`)
		w.expectHistory("a long value", 1, "change content.text: - > "+strings.Repeat("é", 98)+"…", "create")
	},
	"the oldest entries are dropped": func(w *world) {
		w.accept(keeping(3))
		w.put(newItem(1), newItem(2))
		for i := range 5 {
			w.patch(1, `{"campaign":`+itoa(int64(i))+`}`)
		}
		w.expectHistory("the limit of the property", 1,
			"change campaign: 3 > 4", "change campaign: 2 > 3", "change campaign: 1 > 2")
		var muts []library.Mutation
		for i := range library.HistoryEntries + 5 {
			muts = append(muts, library.Mutation{Patch: w.parsePatch(`{"campaign":` + itoa(int64(i)) + `}`), ID: 2})
		}
		w.serve()
		w.change(muts...)
		w.equal("the default limit", len(w.history(2)), library.HistoryEntries)
		w.accept(keeping(2))
		w.equal("a lower limit", len(w.history(2)), 2)
		w.accept(keeping(0))
		w.expectHistory("without a history", 2)
		w.patch(2, `{"campaign":100}`)
		w.put(newItem(3))
		w.serve()
		w.patch(3, `{"campaign":100}`)
		w.expectHistory("changed without a history", 2)
		w.expectHistory("created without a history", 3, "change campaign: - > 100")
	},
	"large entries": func(w *world) {
		w.serve()
		w.put(newItem(1))
		many := func(prefix string, n int) *item.Item {
			it := newItem(1)
			for i := range n {
				it.Tags = append(it.Tags, item.Tag{Namespace: fmt.Sprintf("%s%02d", prefix, i/100), Key: fmt.Sprintf("k%02d", i%100)})
			}
			return it
		}
		w.change(library.Mutation{Put: many("a", item.MaxTags), Replace: true})
		e := w.history(1)[0]
		w.equal("the listed members", len(e.Changes), library.MaxHistoryChanges)
		w.equal("the omitted members", e.Omitted, item.MaxTags-library.MaxHistoryChanges)
		for i := range 20 {
			w.change(library.Mutation{Put: many(string(rune('b'+i%2)), item.MaxTags), Replace: true})
		}
		if n := len(w.history(1)); n < 2 || n >= 20 {
			w.Errorf("%d large entries are kept", n)
		}
	},
	"erased with the item": func(w *world) {
		w.serve()
		w.put(newItem(1), newItem(2))
		w.patch(1, `{"campaign":12}`)
		w.erase(1)
		_, err := w.lib.History(w.ctx(), shop, 1)
		w.errorIs("a deleted item", err, library.ErrNotFound)
		w.put(newItem(1))
		w.expectHistory("another item with the id", 1, "create")
		w.change(library.Mutation{Delete: true, ID: 1}, library.Mutation{Put: newItem(1, text("again"))}, library.Mutation{Patch: w.parsePatch(`{"campaign":13}`), ID: 1})
		w.expectHistory("another item in the same write", 1, "change campaign: - > 13", "create")
		w.expectHistory("the other item", 2, "create")
		_, err = w.lib.History(w.ctx(), shop, 99)
		w.errorIs("an unknown item", err, library.ErrNotFound)
		_, err = w.lib.History(w.ctx(), wall, 2)
		w.errorIs("an unknown property", err, library.ErrNotFound)
	},
}
