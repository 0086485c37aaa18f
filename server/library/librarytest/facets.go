package librarytest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// facets counts the values of a field among the items of a Read. It also checks that the query for each value finds the same number of
// items.
func (w *world) facets(r library.Read, f library.Facet) *library.Facets {
	w.Helper()
	got, err := w.lib.Facets(w.ctx(), r, f)
	if err != nil {
		w.Fatalf("facets of %s: %v", f.Field, err)
	}
	field, err := query.Countable(f.Field, query.Private)
	if err != nil {
		w.Fatal(err)
	}
	w.equal("the field", got.Field, field.Name)
	count := r
	count.Limit = 0
	w.equal("the total", got.Total, w.page(count).Total)
	for _, v := range got.Values {
		count.Where = query.And(r.Where, query.ValueTerm(field, v.Value))
		if n := w.page(count).Total; n != v.Count {
			w.Errorf("%s: %q is counted %d times, and its query finds %d items", f.Field, v.Value, v.Count, n)
		}
	}
	return got
}

// counts compares the wanted values of a field with the values among the items that a query finds. Each wanted value has the form "value
// count".
func (w *world) counts(q, field string, want ...string) {
	w.Helper()
	w.countsIn(w.search(q), library.Facet{Field: field, Limit: library.MaxFacetValues}, want...)
}

func (w *world) countsIn(r library.Read, f library.Facet, want ...string) {
	w.Helper()
	got := []string{}
	for _, v := range w.facets(r, f).Values {
		got = append(got, fmt.Sprintf("%s %d", v.Value, v.Count))
	}
	if len(got)+len(want) > 0 {
		w.equal(fmt.Sprintf("%s with the prefix %q", f.Field, f.Prefix), got, want)
	}
}

func featured(it *item.Item) { it.Featured = true }

func username(s string) option {
	return func(it *item.Item) { it.Content.Author = &item.Author{Username: s} }
}

var facetTests = map[string]func(*world){
	"keywords": func(w *world) {
		w.serve()
		w.put(
			newItem(1, platform("Instagram"), username("Ann")), newItem(2, platform("instagram"), username("bob")),
			newItem(3, platform("twitter"), username("ANN")), newItem(4, platform("ÉTÉ")), newItem(5), newItem(6, status(item.Rejected), platform("été")),
		)
		w.counts("*:*", "content.social_platform", "instagram 2", "été 2", "twitter 1")
		w.counts("*:*", "social_platform", "instagram 2", "été 2", "twitter 1")
		w.counts("approval_status:app", "social_platform", "instagram 2", "twitter 1", "été 1")
		w.counts("*:*", "author", "ann 2", "bob 1")
		w.counts("*:*", "approval_status", "app 5", "rej 1")
		w.counts("id:5", "social_platform")
		w.erase(1)
		w.patch(2, `{"approval_status": "pen"}`)
		w.counts("*:*", "social_platform", "été 2", "instagram 1", "twitter 1")
		w.counts("approval_status:app", "social_platform", "twitter 1", "été 1")
	},
	"numbers and booleans": func(w *world) {
		w.serve()
		w.put(
			newItem(1, campaign(9), featured), newItem(2, campaign(10), featured), newItem(3, campaign(8)), newItem(4, campaign(10)),
			newItem(5, campaign(0)), newItem(6, campaign(100)), newItem(7),
		)
		w.counts("*:*", "campaign", "10 2", "0 1", "8 1", "9 1", "100 1")
		w.countsIn(w.search("*:*"), library.Facet{Field: "campaign", Prefix: "1", Limit: 10}, "10 2", "100 1")
		w.countsIn(w.search("*:*"), library.Facet{Field: "campaign", Prefix: "-", Limit: 10})
		w.countsIn(w.search("*:*"), library.Facet{Field: "campaign", Prefix: "01", Limit: 10})
		w.countsIn(w.search("*:*"), library.Facet{Field: "campaign", Prefix: "0", Limit: 10}, "0 1")
		w.countsIn(w.search("*:*"), library.Facet{Field: "campaign", Prefix: "x", Limit: 10})
		w.countsIn(w.search("*:*"), library.Facet{Field: "campaign", Prefix: "10000000000000000000", Limit: 10})
		w.countsIn(w.search("*:*"), library.Facet{Field: "campaign", Only: []string{"9", "10", "x"}, Limit: 10}, "10 2", "9 1")
		w.countsIn(w.search("*:*"), library.Facet{Field: "featured", Only: []string{"true"}, Limit: 10}, "true 2")
		w.counts("*:*", "featured", "false 5", "true 2")
		w.counts("campaign:[1 TO *]", "featured", "false 3", "true 2")
		w.countsIn(w.search("*:*"), library.Facet{Field: "featured", Prefix: "T", Limit: 10}, "true 2")
		w.counts("id:[2 TO 4]", "id", "2 1", "3 1", "4 1")
	},
	"size, order and prefix": func(w *world) {
		w.serve()
		for id, name := range map[item.ID]string{1: "b", 2: "b", 3: "a", 4: "ab", 5: "Ac", 6: "ac", 7: "*", 8: "a.*", 9: "a?", 10: "[a", 11: `a\`} {
			w.put(newItem(id, username(name)))
		}
		all := w.search("*:*")
		by := func(prefix string, limit int) library.Facet {
			return library.Facet{Field: "content.author.username", Prefix: prefix, Limit: limit}
		}
		w.countsIn(all, by("", 3), "ac 2", "b 2", "* 1")
		w.countsIn(all, by("", 1), "ac 2")
		w.countsIn(all, by("", 0))
		w.countsIn(all, by("A", 10), "ac 2", "a 1", "a.* 1", "a? 1", `a\ 1`, "ab 1")
		w.countsIn(all, by("a", 2), "ac 2", "a 1")
		w.countsIn(all, by("a.*", 10), "a.* 1")
		w.countsIn(all, by("*", 10), "* 1")
		w.countsIn(all, by("a?", 10), "a? 1")
		w.countsIn(all, by("[", 10), "[a 1")
		w.countsIn(all, by(`a\`, 10), `a\ 1`)
		w.countsIn(all, by(strings.Repeat("a", 70_000), 10))
		w.countsIn(all, by("a\x00", 10))
	},
	"more values than any page": func(w *world) {
		w.serve()
		var items []*item.Item
		for id := item.ID(1); id <= 300; id++ {
			items = append(items, newItem(id, username(fmt.Sprintf("u%03d", id/2))))
		}
		w.put(items...)
		f := library.Facet{Field: "author", Limit: library.MaxFacetValues + 1}
		got := w.facets(w.search("*:*"), f)
		w.equal("the number of values", len(got.Values), library.MaxFacetValues)
		w.equal("the last value", got.Values[99], library.FacetValue{Value: "u100", Count: 2})
		f.Prefix, f.Limit = "u1", 2
		w.countsIn(w.search("id:[1 TO 201]"), f, "u100 2")
	},
	"tags of items and of manifests": func(w *world) {
		w.serve()
		w.put(
			newItem(1, text("beach"), tagged("vibe", "bold"), tagged("marketer_tags", "summer")), newItem(2, text("beach"), tagged("vibe", "calm")),
			newItem(3, text("city"), tagged("vibe", "bold")), newItem(4, text("beach"), status(item.Rejected)),
		)
		w.accept(tagRule("summer", "beach", []item.ID{3}), tagRule("late", "", []item.ID{1, 99}), tagRule("unused", "nowhere", nil))
		w.counts("*:*", "tags.marketer_tags.key", "summer 4", "late 1")
		w.counts("*:*", "tags.marketer_tags", "summer 4", "late 1")
		w.counts("approval_status:app", "tags.marketer_tags", "summer 3", "late 1")
		w.counts("city", "tags.marketer_tags", "summer 1")
		w.counts("*:*", "tags.vibe", "bold 2", "calm 1")
		w.counts("*:*", "tags.nowhere")
		w.counts("*:*", "tags", "marketer_tags:summer 4", "vibe:bold 2", "marketer_tags:late 1", "vibe:calm 1")
		w.countsIn(w.search("*:*"), library.Facet{Field: "tags", Prefix: "MARKETER_tags:s", Limit: 10}, "marketer_tags:summer 4")
		w.countsIn(w.search("*:*"), library.Facet{Field: "tags", Prefix: "v", Limit: 1}, "vibe:bold 2")
		w.countsIn(w.search("*:*"), library.Facet{Field: "tags.marketer_tags", Prefix: "l", Limit: 10}, "late 1")
		w.countsIn(w.search("*:*"), library.Facet{Field: "tags", Key: "L", Limit: 10}, "marketer_tags:late 1")
		w.countsIn(w.search("*:*"), library.Facet{Field: "tags", Prefix: "vibe:", Key: "b", Limit: 10}, "vibe:bold 2")
		w.countsIn(w.search("*:*"), library.Facet{Field: "tags", Prefix: "vibe:bo", Key: "b", Limit: 10}, "vibe:bold 2")
		w.countsIn(w.search("*:*"), library.Facet{Field: "tags", Prefix: "v", Key: "s", Limit: 10})
		w.countsIn(w.search("*:*"), library.Facet{Field: "approval_status", Key: "s", Limit: 10}, "app 3", "rej 1")
		only := []string{"marketer_tags:late", "vibe:calm", "vibe:none", "bold"}
		w.countsIn(w.search("*:*"), library.Facet{Field: "tags", Only: only, Limit: 10}, "marketer_tags:late 1", "vibe:calm 1")
		w.countsIn(w.search("*:*"), library.Facet{Field: "tags", Only: []string{}, Limit: 10})
		w.remove(owner(library.KindTag, "shop", "summer"))
		w.counts("*:*", "tags.marketer_tags", "late 1", "summer 1")
	},
	"namespaces with colons and capitals": func(w *world) {
		w.serve()
		w.put(newItem(1, tagged("a:b", "c"), tagged("A", "c")), newItem(2, tagged("a", "c"), tagged("hashtags", "été_1")))
		w.counts("*:*", "tags", "A:c 1", "a:b:c 1", "a:c 1", "hashtags:été_1 1")
		w.countsIn(w.search("*:*"), library.Facet{Field: "tags", Prefix: "a:", Limit: 10}, "A:c 1", "a:b:c 1", "a:c 1")
		w.counts("*:*", "tags.a:b", "c 1")
	},
	"units of items and of manifests": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach")), newItem(2, text("beach")), newItem(3), newItem(4, status(item.Rejected)))
		w.counts("*:*", "activate_units.id")
		w.counts("*:*", "default_activate_unit.id")
		sandals := unitRule("sandals", "tags.marketer_tags.key:summer", []item.ID{3})
		sandals.Unit.Unit.ExternalID = "SKU"
		boots := unitRule("boots", "", []item.ID{1}, archived)
		boots.Unit.Unit.ExternalID = "sku"
		w.accept(sandals, boots, unitRule("house", "", nil, byDefault), tagRule("summer", "beach", nil))
		w.change(library.Mutation{Put: newItem(5, attached(77)), Units: []item.Unit{{ID: 77, Name: "Own", CreatedOn: "2026-01-01T00:00:00Z"}}})
		ids := []string{itoa(unitID("sandals")) + " 3", "77 1", itoa(unitID("boots")) + " 1"}
		w.counts("*:*", "activate_units.id", ids...)
		w.counts("beach", "activate_units.id", itoa(unitID("sandals"))+" 2", itoa(unitID("boots"))+" 1")
		w.countsIn(w.search("*:*"), library.Facet{Field: "activate_units.id", Prefix: "77", Limit: 10}, "77 1")
		w.countsIn(w.search("*:*"), library.Facet{Field: "activate_units.id", Only: []string{"5", "77"}, Limit: 10}, "77 1")
		w.counts("*:*", "activate_units.external_id", "sku 3")
		w.counts("*:*", "activate_units.archived", "false 4", "true 1")
		w.counts("*:*", "default_activate_unit.id", itoa(unitID("sandals"))+" 3", "77 1", itoa(unitID("house"))+" 1")
		w.counts("*:*", "default_activate_unit.external_id", "sku 3")
		w.counts("*:*", "default_activate_unit.archived", "false 5")
		w.remove(sandals.Owner)
		w.counts("*:*", "activate_units.id", "77 1", itoa(unitID("boots"))+" 1")
	},
	"a filter, its favourites and a condition": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach"), tagged("marketer_tags", "hero")), newItem(2, text("beach"), status(item.Rejected)), newItem(3))
		w.accept(filter("wall", "beach", heroesFirst))
		r := library.Read{Property: shop, Filter: ref(filter("wall", "")), Audience: query.Private}
		f := library.Facet{Field: "approval_status", Limit: 10}
		w.countsIn(r, f, "app 1", "rej 1")
		r.Where = w.query("approval_status:rej OR id:3")
		w.countsIn(r, f, "rej 1")
		r.Filter = &library.FilterRef{UUID: "none"}
		_, err := w.lib.Facets(w.ctx(), r, f)
		w.errorIs("an unknown filter", err, library.ErrNotFound)
		q := w.search("*:*")
		q.Property = "no/where"
		_, err = w.lib.Facets(w.ctx(), q, f)
		w.errorIs("an unknown property", err, library.ErrNotFound)
	},
	"an empty query": func(w *world) {
		w.serve()
		w.put(newItem(1))
		for what, q := range map[string]query.Node{"none": nil, "blank": query.None{}} {
			got := w.facets(library.Read{Property: shop, Query: q}, library.Facet{Field: "approval_status", Limit: 10})
			if got.Total != 0 || len(got.Values) != 0 {
				w.Errorf("%s: %+v", what, got)
			}
		}
	},
	"private fields": func(w *world) {
		w.serve()
		w.put(newItem(1, submitted(`{"email":"Ann@mail.example","note":"yes"}`)), newItem(2, submitted(`{"note":"YES"}`)))
		w.counts("*:*", "submission.email", "ann@mail.example 1")
		w.counts("*:*", "submission.note", "yes 2")
		w.counts("*:*", "submission.none")
		public := w.search("*:*")
		public.Audience = query.Public
		for _, name := range []string{"submission.email", "submission.none", "submission", "submission."} {
			_, err := w.lib.Facets(w.ctx(), public, library.Facet{Field: name, Limit: 10})
			wantError[*query.ForbiddenFieldError](w, name, err)
		}
		public.Query = w.query("submission.note:yes")
		_, err := w.lib.Facets(w.ctx(), public, library.Facet{Field: "approval_status", Limit: 10})
		wantError[*query.ForbiddenFieldError](w, "a query", err)
		public.Query = w.query("*:*")
		w.countsIn(public, library.Facet{Field: "approval_status", Limit: 10}, "app 2")
	},
	"fields that cannot be counted": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach")))
		for _, name := range []string{
			"", "text", "content.text", "created_on", "content.platform_data.geo_data.coordinates.latitude", "activate_units.name", "_all", "nowhere",
			"content", "submission", "submission.", "tags.", "tags.a.b", "*", "content.*", strings.Repeat("x", 70_000),
		} {
			_, err := w.lib.Facets(w.ctx(), w.search("*:*"), library.Facet{Field: name, Limit: 10})
			if e := errorAs[*query.FieldError](w, name, err); e != nil && len(e.Error()) > 500 {
				w.Errorf("an error of %d bytes", len(e.Error()))
			}
		}
	},
	"values that no query can name": func(w *world) {
		w.serve()
		long := strings.Repeat("x", query.MaxLength)
		w.put(newItem(1, username(long)), newItem(2, username(long+"x")), newItem(3, username(long+"x")), newItem(4, username("ann")))
		w.countsIn(w.search("*:*"), library.Facet{Field: "author", Limit: 2}, "ann 1", long+" 1")
		w.countsIn(w.search("*:*"), library.Facet{Field: "author", Limit: 1, Prefix: "x"}, long+" 1")
	},
	"references by platform": func(w *world) {
		w.serve()
		w.put(newItem(1, platform("tumblr"), reference("Aa")), newItem(2, platform("tumblr"), reference("aA")), newItem(3, platform("twitter"), reference("aa")))
		w.counts("*:*", "content.platform_ref", "aa 3")
		w.counts("*:*", "content.platform_ref:tumblr", "aa 2")
		w.counts("*:*", "content.platform_ref:none")
	},
	"relative to now": func(w *world) {
		w.serve()
		w.put(newItem(1, created("2026-11-21T11:30:00Z")), newItem(2, created("2026-11-21T10:00:00Z")))
		w.accept(tagRule("fresh", "created_on:[now-1h TO *]", nil))
		w.counts("*:*", "tags.marketer_tags", "fresh 1")
		r := w.search("created_on:[now-2h TO *]")
		f := library.Facet{Field: "approval_status", Limit: 10}
		w.countsIn(r, f, "app 2")
		w.equal("until when", w.facets(r, f).Expires, w.page(r).Expires)
		w.clock.Advance(time.Hour)
		w.countsIn(r, f, "app 1")
		w.counts("*:*", "tags.marketer_tags")
		r.Now = start
		w.countsIn(r, f, "app 2")
		w.countsIn(r, library.Facet{Field: "tags", Limit: 10}, "marketer_tags:fresh 1")
	},
	"a context that has ended": func(w *world) {
		w.serve()
		w.put(newItems(1, 10)...)
		ctx, cancel := context.WithCancel(w.ctx())
		cancel()
		_, err := w.lib.Facets(ctx, w.search("*:*"), library.Facet{Field: "id", Limit: 10})
		w.errorIs("the cause", err, context.Canceled)
	},
	"after a restart": func(w *world) {
		w.serve()
		w.put(newItem(1, platform("twitter")), newItem(2, platform("twitter")), newItem(3, platform("tumblr")))
		w.erase(2)
		w.restart()
		w.counts("*:*", "social_platform", "tumblr 1", "twitter 1")
	},
}
