package librarytest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

var writeTests = map[string]func(*world){
	"ids are assigned above every imported one": func(w *world) {
		w.serve()
		draw := func() item.ID {
			o := w.change(library.Mutation{Put: &item.Item{Content: item.Content{ContentType: item.Image}}})[0]
			w.equal("created", o.Created, true)
			return o.ID
		}
		first := draw()
		if first < 1 {
			w.Fatalf("the first id is %d", first)
		}
		w.equal("the next", draw(), first+1)
		w.put(newItem(500))
		w.equal("above an imported one", draw(), item.ID(501))
		w.erase(501)
		w.equal("never again", draw(), item.ID(502))
		w.restart()
		w.equal("after a restart", draw(), item.ID(503))
	},
	"an id that exists": func(w *world) {
		w.serve()
		w.put(newItem(1, text("old")))
		outcomes := w.write(library.Mutation{Put: newItem(1, text("new"))}, library.Mutation{Put: newItem(2)})
		w.errorIs("without Replace", outcomes[0].Err, library.ErrExists)
		if outcomes[1].Err != nil || !outcomes[1].Created {
			w.Errorf("the other mutation: %+v", outcomes[1])
		}
		w.equal("the old one", w.show(1).Content.Text, "old")
		outcomes = w.change(library.Mutation{Put: newItem(1, text("new")), Replace: true}, library.Mutation{Put: newItem(3), Replace: true})
		w.equal("replaced", outcomes[0], library.Outcome{ID: 1})
		w.equal("made", outcomes[1], library.Outcome{ID: 3, Created: true})
		w.finds("new", 1)
		w.finds("old")
	},
	"an id past 2^53": func(w *world) {
		w.serve()
		for _, id := range []item.ID{item.MaxID + 1, -1} {
			o := w.write(library.Mutation{Put: newItem(id)})[0]
			wantError[*item.InvalidError](w, itoa(id), o.Err)
		}
		w.finds("*:*")
	},
	"no id is left to assign": func(w *world) {
		w.serve()
		w.put(newItem(item.MaxID))
		w.erase(item.MaxID)
		w.restart()
		o := w.write(library.Mutation{Put: &item.Item{Content: item.Content{ContentType: item.Image}}})[0]
		w.equal("the refused member", errorAs[*item.InvalidError](w, "without an id", o.Err).Member, "id")
		w.put(newItem(7))
		w.finds("*:*", 7)
	},
	"unknown units": func(w *world) {
		w.serve()
		o := w.write(library.Mutation{Put: newItem(1, attached(99))})[0]
		invalid := errorAs[*item.InvalidError](w, "in an item", o.Err)
		if invalid != nil {
			w.equal("unacceptable rather than malformed", invalid.Malformed, false)
		}
		w.put(newItem(1))
		o = w.write(library.Mutation{Patch: w.parsePatch(`{"activate_units": [99]}`), ID: 1})[0]
		wantError[*item.InvalidError](w, "in a patch", o.Err)
		w.expectUnits(1)
	},
	"a patch": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach"), status(item.Pending)))
		w.finds("approval_status:pen", 1)
		w.patch(1, `{"approval_status": "app", "campaign": 12}`)
		w.finds("approval_status:pen")
		w.finds("campaign:12", 1)
		w.equal("a member that the patch does not name", w.show(1).Content.Text, "beach")
		o := w.write(library.Mutation{Patch: w.parsePatch(`{"featured": true}`), ID: 9})[0]
		w.errorIs("of an unknown item", o.Err, library.ErrNotFound)
		w.equal("its id", o.ID, item.ID(9))
		text := &item.Item{ID: 2, ApprovalStatus: item.Approved, Content: item.Content{ContentType: item.Text, Text: "a"}}
		w.put(text)
		o = w.write(library.Mutation{Patch: w.parsePatch(`{"featured": true, "content": {"text": ""}}`), ID: 2})[0]
		wantError[*item.InvalidError](w, "that would break the item", o.Err)
		w.finds("featured:true")
	},
	"deleting": func(w *world) {
		w.serve()
		w.put(newItems(1, 3)...)
		w.erase(2)
		w.finds("*:*", 1, 3)
		o := w.write(library.Mutation{Delete: true, ID: 2})[0]
		w.errorIs("twice", o.Err, library.ErrNotFound)
	},
	"tagging": func(w *world) {
		w.serve()
		w.put(newItems(1, 3)...)
		w.tag("marketer_tags", "summer", 1, 3, 1)
		w.tag("marketer_tags", "summer", 1)
		w.tag("any name", "bold", 1)
		w.finds("tags.marketer_tags.key:summer", 1, 3)
		w.finds("tags.marketer_tags:summer", 1, 3)
		w.expectTags(1, "any name:bold", "marketer_tags:summer")
		w.untag("summer", 1)
		w.expectTags(1, "any name:bold")
		o := w.write(library.Mutation{Untag: &item.Tag{Namespace: "marketer_tags", Key: "summer"}, IDs: []item.ID{1}})[0]
		w.errorIs("a mapping that is not there", o.Err, library.ErrNotFound)
		_, err := w.lib.ItemTags(w.ctx(), shop, 99)
		w.errorIs("the tags of an unknown item", err, library.ErrNotFound)
		o = w.write(library.Mutation{Tag: &item.Tag{Namespace: "marketer_tags", Key: "Not a key"}, IDs: []item.ID{1}})[0]
		wantError[*item.InvalidError](w, "an invalid key", o.Err)
	},
	"tagging is all or nothing": func(w *world) {
		w.serve()
		w.put(newItems(1, 2)...)
		o := w.write(library.Mutation{Tag: &item.Tag{Namespace: "marketer_tags", Key: "summer"}, IDs: []item.ID{1, 98, 2, 99}})[0]
		unknown := errorAs[*library.UnknownItemsError](w, "with unknown ids", o.Err)
		if unknown != nil {
			w.equal("all of them are named", unknown.IDs, []item.ID{98, 99})
		}
		w.finds("tags.marketer_tags.key:summer")
		had, err := w.lib.HasTag(shop, item.Tag{Namespace: "marketer_tags", Key: "summer"})
		if err != nil || had {
			w.Errorf("HasTag = %t, %v; want false, because the write failed", had, err)
		}
		w.tag("marketer_tags", "summer", 1)
		o = w.write(library.Mutation{Untag: &item.Tag{Namespace: "marketer_tags", Key: "summer"}, IDs: []item.ID{1, 2}})[0]
		w.errorIs("removing a tag that one of them lacks", o.Err, library.ErrNotFound)
		w.finds("tags.marketer_tags.key:summer", 1)
	},
	"later mutations see earlier ones": func(w *world) {
		w.serve()
		summer := &item.Tag{Namespace: "marketer_tags", Key: "summer"}
		outcomes := w.write(
			library.Mutation{Put: newItem(1)},
			library.Mutation{Tag: summer, IDs: []item.ID{1}},
			library.Mutation{Put: newItem(1)},
			library.Mutation{Delete: true, ID: 1},
			library.Mutation{Tag: summer, IDs: []item.ID{1}},
			library.Mutation{Put: newItem(1, text("again"))},
		)
		for i, refused := range []bool{false, false, true, false, true, false} {
			if (outcomes[i].Err != nil) != refused {
				w.Errorf("mutation %d: %v, want refused: %t", i, outcomes[i].Err, refused)
			}
		}
		w.expectTags(1)
		w.finds("again", 1)
	},
	"the library copies the caller's items": func(w *world) {
		w.serve()
		it := newItem(1, text("beach"), tagged("vibe", "bold"))
		w.put(it)
		it.Content.Text = "changed"
		w.equal("the text", w.show(1).Content.Text, "beach")
	},
	"a canceled write": func(w *world) {
		w.serve()
		ctx, cancel := context.WithCancel(w.ctx())
		cancel()
		_, err := w.lib.Write(ctx, shop, []library.Mutation{{Put: newItem(1)}})
		w.errorIs("with a context that ended", err, context.Canceled)
		w.finds("*:*")
	},
	"an item has a maximum number of tags": func(w *world) {
		w.serve()
		// spread makes an item with n tags of its own: up to 90 in each namespace.
		spread := func(id item.ID, n int) *item.Item {
			it := newItem(id)
			for i := range n {
				tagged(fmt.Sprintf("n%d", i/90), string([]byte{byte('a' + i%90/26), byte('a' + i%90%26)}))(it)
			}
			return it
		}
		w.put(spread(1, item.MaxTags), spread(2, 2))
		refused := func(what string, m library.Mutation, tag string) {
			w.Helper()
			invalid := errorAs[*item.InvalidError](w, what, w.write(m)[0].Err)
			if invalid == nil {
				return
			}
			namespace, _, _ := strings.Cut(tag, ":")
			w.equal(what+": member", invalid.Member, "tags."+namespace)
			w.equal(what+": malformed", invalid.Malformed, false)
			if !strings.Contains(invalid.Reason, "the tag "+tag+" ") || !strings.Contains(invalid.Reason, fmt.Sprint(item.MaxTags)) {
				w.Errorf("%s: %s", what, invalid.Reason)
			}
		}
		bold := library.Mutation{Tag: &item.Tag{Namespace: "vibe", Key: "bold"}, IDs: []item.ID{2, 1}}
		refused("a tag for two items, one of which is full", bold, "vibe:bold")
		w.finds("tags.vibe:bold")
		w.expectTags(2, "n0:aa", "n0:ab")
		refused("a new item", library.Mutation{Put: spread(3, item.MaxTags+1)}, "n2:cy")
		refused("a replacement", library.Mutation{Put: spread(2, item.MaxTags+1), Replace: true}, "n2:cy")
		w.finds("*:*", 1, 2)
		w.tag("n0", "aa", 1) // the item has this tag already
		w.patch(1, `{"campaign": 12}`)
		w.change(library.Mutation{Untag: &item.Tag{Namespace: "n0", Key: "aa"}, IDs: []item.ID{1}}, bold)
		w.finds("tags.vibe:bold", 1, 2)
		w.accept(tagRule("declared", "", []item.ID{1})) // tags from manifests do not count
		w.finds(`tags.\*:declared`, 1)
		w.erase(1)
	},
	"a property has a maximum number of tag namespaces": func(w *world) {
		w.accept(property(shop), property(wall))
		tag := func(n int, id item.ID) library.Mutation {
			return library.Mutation{Tag: &item.Tag{Namespace: fmt.Sprintf("n%03d", n), Key: "bold"}, IDs: []item.ID{id}}
		}
		full := func(when string) {
			w.Helper()
			outcomes := w.write(
				library.Mutation{Put: newItem(901)},
				tag(900, 901),
				library.Mutation{Put: newItem(902, tagged("n000", "bold"), tagged("n901", "bold"))},
				tag(0, 901),
				library.Mutation{Put: newItem(903, tagged("n001", "bold"))},
			)
			for i, member := range []string{"", "tags.n900", "tags.n901", "", ""} {
				if member == "" {
					w.equal(fmt.Sprintf("%s, mutation %d", when, i), outcomes[i].Err, error(nil))
					continue
				}
				if invalid := errorAs[*item.InvalidError](w, when, outcomes[i].Err); invalid != nil {
					w.equal(when+": member", invalid.Member, member)
					if invalid.Malformed || !strings.Contains(invalid.Reason, fmt.Sprint(item.MaxPropertyNamespaces)) {
						w.Errorf("%s: %+v", when, invalid)
					}
				}
			}
			w.finds(`tags.\*:bold AND id:>900`, 901, 903)
			w.erase(901, 903)
		}
		const each = 16
		var muts []library.Mutation
		for i := range item.MaxPropertyNamespaces {
			if i%each == 0 {
				muts = append(muts, library.Mutation{Put: newItem(item.ID(1 + i/each))})
			}
			muts = append(muts, tag(i, item.ID(1+i/each)))
		}
		w.change(muts...)
		full("at the limit")
		var all []item.ID
		for i := range item.MaxPropertyNamespaces / each {
			all = append(all, item.ID(1+i))
		}
		w.finds(`tags.\*:bold`, all...)
		w.finds(`tags.\*:/b.*/`, all...)
		w.finds(`_exists_:tags`, all...)
		w.finds(`_missing_:tags.\*`)
		w.accept(tagRule("declared", "", []item.ID{1})) // the namespaces of manifests do not count, and are not refused
		w.finds(`tags.\*:declared`, 1)
		o, err := w.lib.Write(w.ctx(), wall, []library.Mutation{{Put: newItem(1, tagged("n900", "bold"))}})
		if err != nil || o[0].Err != nil {
			w.Errorf("a namespace in another property: %v, %v", err, o)
		}
		w.erase(all...)
		full("after the items were deleted")
		w.restart()
		full("after a restart")
		w.remove(property(shop).Owner)
		if err := w.lib.Purge(w.ctx(), shop); err != nil {
			w.Fatal(err)
		}
		w.serve()
		w.put(newItem(1))
		w.change(tag(900, 1))
	},
	"a field pattern can match more fields than a query can have clauses": func(w *world) {
		w.serve()
		const each, items = item.MaxSubmissionMembers, 3 * query.MaxClauses / item.MaxSubmissionMembers
		var all []item.ID
		for id := item.ID(1); id <= items; id++ {
			members := map[string]string{}
			for i := range each {
				members[fmt.Sprintf("f%05d", int(id)*each+i)] = "value"
			}
			members["f00000"] = itoa(id)
			delete(members, fmt.Sprintf("f%05d", int(id)*each+1))
			submission, err := json.Marshal(members)
			if err != nil {
				w.Fatal(err)
			}
			w.put(newItem(id, submitted(string(submission)), tagged("vibe", "bold")))
			all = append(all, id)
		}
		w.put(newItem(500))
		w.finds(`submission.\*:value`, all...)
		others := slices.DeleteFunc(slices.Clone(all), func(id item.ID) bool { return id == 7 })
		w.finds(`submission.\*:value AND NOT submission.f00000:7`, others...)
		w.finds(`submission.\*:7`, 7)
		w.finds(`_exists_:submission`, all...)
		w.finds(`_missing_:submission.\*`, 500)
		r := w.search(`submission.\*:(value OR 7)`)
		r.Order = w.order("_score:desc")
		slices.Reverse(others)
		w.expect("by relevance", r, append([]item.ID{7}, others...)...)
	},
	"a property has a maximum number of field names": func(w *world) {
		w.accept(property(shop), property(wall))
		// names makes an item with a tag in each of the namespaces in tags. The item's submission has n members, with names numbered from first.
		names := func(id item.ID, first, n int, tags ...string) *item.Item {
			members := map[string]string{}
			for i := range n {
				members[fmt.Sprintf("f%05d", first+i)] = "v"
			}
			submission, err := json.Marshal(members)
			if err != nil {
				w.Fatal(err)
			}
			it := newItem(id, submitted(string(submission)))
			for _, namespace := range tags {
				it.Tags = append(it.Tags, item.Tag{Namespace: namespace, Key: "bold"})
			}
			return it
		}
		refused := func(what, member string, o library.Outcome) {
			w.Helper()
			if invalid := errorAs[*item.InvalidError](w, what, o.Err); invalid != nil {
				w.equal(what+": member", invalid.Member, member)
				w.equal(what+": malformed", invalid.Malformed, false)
			}
		}
		const each, left = 100, 20
		var muts []library.Mutation
		var ids []item.ID
		for first := 0; first < item.MaxFieldNames-left; first += each {
			ids = append(ids, item.ID(1+first/each))
			muts = append(muts, library.Mutation{Put: names(ids[len(ids)-1], first, min(each, item.MaxFieldNames-left-first))})
		}
		w.change(muts...)

		// Concurrent writers try to add more new names than the limit still allows. The library must accept exactly the allowed number.
		var taken atomic.Int64
		var wg sync.WaitGroup
		for writer := range 4 {
			wg.Go(func() {
				for n := range 10 {
					id := item.ID(1000 + 10*writer + n)
					o, err := w.lib.Write(w.ctx(), shop, []library.Mutation{{Put: names(id, 1_000_000+int(id), 1)}})
					if err != nil {
						w.Errorf("write: %v", err)
					} else if o[0].Err == nil {
						taken.Add(1)
					}
				}
			})
		}
		wg.Wait()
		w.equal("writers that got a new name", taken.Load(), int64(left))

		full := func(when string) {
			w.Helper()
			outcomes := w.write(
				library.Mutation{Put: names(5001, 0, 2)},
				library.Mutation{Put: names(5002, 2_000_000, 1)},
				library.Mutation{Put: names(5003, 0, 1, "vibe")},
				library.Mutation{Put: names(5004, 0, 1)},
				library.Mutation{Patch: w.parsePatch(`{"submission": {"extra": "x"}}`), ID: 5001},
				library.Mutation{Patch: w.parsePatch(`{"submission": {"f00099": "x"}, "campaign": 12}`), ID: 5001},
				library.Mutation{Tag: &item.Tag{Namespace: "vibe", Key: "bold"}, IDs: []item.ID{5001}},
				library.Mutation{Put: newItem(5005)},
			)
			refused(when+", a new name", "submission.f2000000", outcomes[1])
			refused(when+", a new namespace", "tags.vibe", outcomes[2])
			refused(when+", a patch with a new name", "submission.extra", outcomes[4])
			refused(when+", a tag with a new namespace", "tags.vibe", outcomes[6])
			for _, i := range []int{0, 3, 5, 7} {
				if outcomes[i].Err != nil {
					w.Errorf("%s, mutation %d: %v", when, i, outcomes[i].Err)
				}
			}
			w.finds("campaign:12", 5001)
			w.finds("_exists_:tags.vibe")
			w.erase(5001, 5004, 5005)
		}
		full("at the limit")
		o, err := w.lib.Write(w.ctx(), wall, []library.Mutation{{Put: names(1, 3_000_000, 1)}})
		if err != nil || o[0].Err != nil {
			w.Errorf("a name in another property: %v, %v", err, o)
		}
		w.erase(ids...)
		full("after the items were deleted")
		w.restart()
		full("after a restart")
		w.remove(property(shop).Owner)
		if err := w.lib.Purge(w.ctx(), shop); err != nil {
			w.Fatal(err)
		}
		w.serve()
		w.put(names(1, 4_000_000, 1))
	},
	"short links": func(w *world) {
		w.serve()
		w.put(newItem(1), newItem(2, status(item.Rejected)), newItem(3, func(it *item.Item) { it.Content.OriginalURL = "ftp://posts.example/3" }))
		p, link, err := w.lib.ShortLink(w.ctx(), "code1")
		if err != nil || p != shop || link != "https://posts.example/1" {
			w.Errorf("an approved item leads to %q of %s (%v)", link, p, err)
		}
		for what, code := range map[string]string{"a rejected item": "code2", "no web address": "code3", "no such code": "nothing", "an empty code": ""} {
			_, _, err := w.lib.ShortLink(w.ctx(), code)
			w.errorIs(what, err, library.ErrNotFound)
		}
		w.put(newItem(4, func(it *item.Item) { it.ShortCode = "code1" }))
		if _, link, err = w.lib.ShortLink(w.ctx(), "code1"); err != nil || link != "https://posts.example/1" {
			w.Errorf("a code that came twice leads to %q (%v)", link, err)
		}
		w.erase(1)
		_, _, err = w.lib.ShortLink(w.ctx(), "code1")
		w.errorIs("an erased item", err, library.ErrNotFound)
	},
	"marks": func(w *world) {
		got, err := w.lib.Mark("install")
		if err != nil || got != "" {
			w.Errorf("an unknown mark is %q (%v)", got, err)
		}
		if err := w.lib.SetMark(w.ctx(), "install", "uid"); err != nil {
			w.Fatal(err)
		}
		w.restart()
		if got, err = w.lib.Mark("install"); err != nil || got != "uid" {
			w.Errorf("a mark after a restart is %q (%v)", got, err)
		}
	},
}

var exportTests = map[string]func(*world){
	"import is the inverse of export": func(w *world) {
		w.accept(property(shop), property(wall))
		w.accept(tagRule("manifest", "*:*", nil), unitRule("sandals", "*:*", nil))
		u := item.Unit{ID: 77, Name: "Boots", ImageURL: "https://cdn.example/b.png", ClickThroughURL: "https://shop.example/b", ExternalID: "SKU", CreatedOn: "2026-01-01T00:00:00Z"}
		w.change(
			library.Mutation{Put: newItem(3, text("beach"), campaign(0), tagged("vibe", "bold"), attached(77, unitID("sandals")), submitted(`{"email":"ann@mail.example"}`), latitude(1.25)),
				Units: []item.Unit{u}},
			library.Mutation{Put: newItem(1, text("city"), status(item.Pending))},
			library.Mutation{Put: newItem(2, created("2014"))},
		)
		lines := w.export(shop, "")
		w.equal("lines", len(lines), 3)
		var muts []library.Mutation
		for i, line := range lines {
			parsed, err := item.ParseLine(line, item.ParseOptions{Now: start})
			if err != nil {
				w.Fatalf("line %d: %v\n%s", i, err, line)
			}
			w.equal("by id", parsed.Item.ID, item.ID(i+1))
			muts = append(muts, library.Mutation{Put: parsed.Item, Units: parsed.Units})
		}
		outcomes, err := w.lib.Write(w.ctx(), wall, muts)
		if err != nil {
			w.Fatal(err)
		}
		for i, o := range outcomes {
			if o.Err != nil {
				w.Errorf("line %d: %v", i, o.Err)
			}
		}
		again := w.export(wall, "")
		for i := range lines {
			var a, b map[string]any
			if json.Unmarshal(lines[i], &a) != nil || json.Unmarshal(again[i], &b) != nil {
				w.Fatalf("line %d is not JSON", i)
			}
			// Remove the values that cannot be the same in two properties: a short code belongs to one item across all properties, and a
			// manifest's unit belongs to one property.
			delete(a, "short_code")
			delete(b, "short_code")
			if i == 2 {
				a["activate_units"], b["activate_units"] = a["activate_units"].([]any)[:1], b["activate_units"].([]any)[:1]
			}
			w.equal("line "+itoa(int64(i+1)), b, a)
		}
	},
	"matching items without data of manifests": func(w *world) {
		w.serve()
		w.put(newItem(2, text("beach")), newItem(1, text("beach"), tagged("vibe", "bold")), newItem(3, text("city")))
		w.accept(tagRule("manifest", "*:*", nil), unitRule("sandals", "*:*", nil))
		lines := w.export(shop, "beach")
		w.equal("lines", len(lines), 2)
		for i, line := range lines {
			it, err := item.Unmarshal(line)
			if err != nil {
				w.Fatal(err)
			}
			w.equal("by id", it.ID, item.ID(i+1))
			if len(it.Units) != 0 || slices.ContainsFunc(it.Tags, func(t item.Tag) bool { return t.Namespace == "marketer_tags" }) {
				w.Errorf("a line with what manifests brought: %s", line)
			}
		}
	},
	"stopping early and an unknown property": func(w *world) {
		w.serve()
		w.put(newItems(1, 600)...)
		n := 0
		for _, err := range w.lib.Export(w.ctx(), shop, nil) {
			if err != nil {
				w.Fatal(err)
			}
			if n++; n == 10 {
				break
			}
		}
		w.equal("lines taken", n, 10)
		for _, err := range w.lib.Export(w.ctx(), wall, nil) {
			w.errorIs("an unknown property", err, library.ErrNotFound)
		}
		w.put(newItem(601))
	},
}

func (w *world) export(p library.PropertyID, q string) [][]byte {
	w.Helper()
	var lines [][]byte
	for line, err := range w.lib.Export(w.ctx(), p, w.query(q)) {
		if err != nil {
			w.Fatalf("export: %v", err)
		}
		lines = append(lines, slices.Clone(line))
	}
	return lines
}
