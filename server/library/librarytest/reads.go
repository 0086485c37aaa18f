package librarytest

import (
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

var readTests = map[string]func(*world){
	"a filter and a query, each with a condition": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach")), newItem(2, text("beach"), status(item.Rejected)), newItem(3, text("city")))
		w.accept(filter("wall", "beach"))
		r := library.Read{Property: shop, Filter: ref(filter("wall", "")), Limit: 10}
		w.expect("a filter", r, 2, 1)
		byID := r
		byID.Filter = &library.FilterRef{ID: filter("wall", "").Filter.ID}
		w.expect("by its number", byID, 2, 1)
		r.Where = w.query("approval_status:app")
		w.expect("with a condition", r, 1)
		r.Where = w.query("city OR approval_status:rej")
		w.expect("a condition cannot widen it", r, 2)
		q := w.search("beach")
		q.Where = w.query("approval_status:rej")
		w.expect("a query with a condition", q, 2)
		r.Filter = &library.FilterRef{UUID: "00000000-0000-0000-0000-000000000000"}
		_, err := w.lib.Read(w.ctx(), r)
		w.errorIs("an unknown filter", err, library.ErrNotFound)
		q.Property = "no/where"
		_, err = w.lib.Read(w.ctx(), q)
		w.errorIs("an unknown property", err, library.ErrNotFound)
	},
	"an empty query matches nothing": func(w *world) {
		w.serve()
		w.put(newItem(1))
		w.expect("no query", library.Read{Property: shop, Limit: 10})
		w.expect("a blank query", library.Read{Property: shop, Query: query.None{}, Limit: 10})
		w.expect("everything", w.search("*:*"), 1)
	},
	"a text without words exists, an empty text does not": func(w *world) {
		w.serve()
		w.put(newItem(1, text("!")), newItem(2, text("")), newItem(3, text("beach")), newItem(4, text("... -")))
		w.expect("present", w.search("_exists_:text"), 4, 3, 1)
		w.expect("missing", w.search("_missing_:text"), 2)
		w.expect("any text", w.search("text:*"), 4, 3, 1)
		w.expect("any field of words", w.search("*"), 4, 3, 1)
		w.expect("a range of words", w.search("text:[* TO *]"), 3)
		w.put(newItem(5, text("beach")), newItem(6, text("the beach")))
		w.patch(3, `{"content":{"text":"-"}}`)
		w.expect("after a change", w.search("_exists_:text AND NOT beach"), 4, 3, 1)
	},
	"references by platform": func(w *world) {
		w.serve()
		w.put(
			newItem(1, platform("twitter"), reference("1001")),
			newItem(2, platform("tumblr"), reference("1002")),
			newItem(3, platform("tumblr"), reference("2001")),
			newItem(4, platform("twitter")),
			newItem(5, reference("1003")),
		)
		w.expect("any on a platform", w.search(`content.platform_ref\:twitter:*`), 1)
		w.expect("some on a platform", w.search(`content.platform_ref\:tumblr:100*`), 2)
		w.expect("one that is another platform's", w.search(`content.platform_ref\:tumblr:1001`))
		w.expect("whichever platform", w.search(`content.platform_ref:100*`), 5, 2, 1)
		w.expect("a pattern of platforms", w.search(`content.platform_ref\:t\*:100*`), 2, 1)
		w.expect("missing on a platform", w.search(`_missing_:content.platform_ref\:tumblr`), 5, 4, 1)
		r := w.search("*:*")
		r.Order = w.order("content.platform_ref:tumblr:desc")
		w.expect("by the reference on a platform", r, 3, 2, 5, 4, 1)
	},
	"the orders": func(w *world) {
		w.serve()
		w.put(
			newItem(1, campaign(7), platform("twitter"), latitude(1.5), created("2026-01-01T00:00:00Z")),
			newItem(2, campaign(3), platform("Instagram"), latitude(-2), created("2026-03-01T00:00:00Z")),
			newItem(3, campaign(7), platform("instagram"), created("2026-02-01T00:00:00Z")),
			newItem(4, platform("twitter"), latitude(0), created("2026-04-01T00:00:00Z")),
			newItem(5, campaign(3), created("2026-01-01T00:00:00Z")),
		)
		for order, want := range map[string][]item.ID{
			"created_on:desc":                   {4, 2, 3, 5, 1},
			"created_on:asc":                    {5, 1, 3, 2, 4},
			"id:asc":                            {1, 2, 3, 4, 5},
			"id:desc":                           {5, 4, 3, 2, 1},
			"campaign:asc":                      {2, 5, 3, 1, 4},
			"campaign:desc":                     {3, 1, 2, 5, 4},
			"social_platform:asc":               {2, 3, 4, 1, 5},
			"social_platform:desc":              {4, 1, 2, 3, 5},
			"campaign:asc,social_platform:desc": {2, 5, 1, 3, 4},
			"campaign:desc,created_on:asc":      {1, 3, 5, 2, 4},
			"content.platform_data.geo_data.coordinates.latitude:asc":  {2, 4, 1, 3, 5},
			"content.platform_data.geo_data.coordinates.latitude:desc": {1, 4, 2, 3, 5},
			"social_platform:asc,campaign:asc,id:desc":                 {2, 3, 1, 4, 5},
		} {
			r := w.search("*:*")
			r.Order = w.order(order)
			w.expect(order, r, want...)
		}
	},
	"ties: newest, then the highest id": func(w *world) {
		w.serve()
		same := created("2026-05-05T05:05:05Z")
		w.put(newItem(1, same), newItem(2, same), newItem(3, created("2026-06-06T06:06:06Z")), newItem(4, created("")), newItem(5, created("")))
		r := w.search("*:*")
		r.Order = w.order("featured:asc")
		w.expect("all alike", r, 3, 2, 1, 5, 4)
		r.Order = w.order("featured:desc")
		w.expect("all alike, descending", r, 3, 2, 1, 5, 4)
	},
	"by relevance": func(w *world) {
		w.serve()
		w.put(
			newItem(1, text("beach beach beach")),
			newItem(2, text("a long walk from the city down to the far end of the beach at dusk")),
			newItem(3, text("city")),
			newItem(4, text("beach")),
		)
		r := w.search("beach")
		r.Order = nil
		w.expect("more occurrences and shorter texts rank higher", r, 1, 4, 2)
		r.Query = w.query("beach OR city^20")
		w.expect("boosted", r, 3, 2, 1, 4)
		r.Query = w.query("*:*")
		w.expect("all alike", r, 4, 3, 2, 1)
		w.accept(filter("wall", "beach"))
		f := library.Read{Property: shop, Filter: ref(filter("wall", "")), Limit: 10}
		w.expect("a filter has its own order", f, 4, 2, 1)
		f.Order = w.order("_score:desc")
		w.expect("unless asked", f, 1, 4, 2)
	},
	"random with a seed": func(w *world) {
		w.serve()
		w.put(newItems(1, 40)...)
		r := w.search("*:*")
		r.Order, r.Seed = w.order("random"), "a"
		first := w.ids(w.page(r))
		w.equal("the same seed", w.ids(w.page(r)), first)
		if slices.IsSorted(first) || slices.Equal(first, w.ids(w.page(w.search("*:*")))) {
			w.Errorf("random order is %v", first)
		}
		other := r
		other.Seed = "b"
		if slices.Equal(w.ids(w.page(other)), first) {
			w.Error("two seeds result in the same order")
		}
		w.put(newItems(41, 50)...)
		grown := slices.DeleteFunc(w.ids(w.page(r)), func(id item.ID) bool { return id > 40 })
		w.equal("earlier items after additions", grown, first)
		var paged []item.ID
		for offset := int64(0); offset < 50; offset += 7 {
			page := r
			page.Offset, page.Limit = offset, 7
			paged = append(paged, w.ids(w.page(page))...)
		}
		w.equal("page by page", paged, w.ids(w.page(r)))
	},
	"favourites first": func(w *world) {
		w.serve()
		w.put(newItems(1, 6)...)
		w.tag("marketer_tags", "hero", 2, 4)
		hero := &item.Tag{Namespace: "marketer_tags", Key: "hero"}
		r := w.search("*:*")
		r.Favourite = hero
		w.expect("newest first", r, 4, 2, 6, 5, 3, 1)
		r.Order = w.order("id:asc")
		w.expect("by another order", r, 2, 4, 1, 3, 5, 6)
		r.Offset, r.Limit = 1, 3
		w.expect("a page with both groups", r, 4, 1, 3)
		r = w.search("*:*")
		r.Favourite = &item.Tag{Namespace: "marketer_tags", Key: "nobody"}
		w.expect("a tag that nothing carries", r, 6, 5, 4, 3, 2, 1)
		w.accept(filter("wall", "*:*", heroesFirst), tagRule("star", "", []item.ID{1}))
		f := library.Read{Property: shop, Filter: ref(filter("wall", "")), Limit: 10}
		w.expect("a filter's own", f, 4, 2, 6, 5, 3, 1)
		f.Favourite = &item.Tag{Namespace: "marketer_tags", Key: "star"}
		w.expect("the request's favourite takes precedence, here a manifest's tag", f, 1, 6, 5, 4, 3, 2)
		f.Favourite, f.Order, f.Seed = hero, w.order("random"), "s"
		got := w.ids(w.page(f))
		slices.Sort(got[:2])
		w.equal("favourites first in random order", got[:2], []item.ID{2, 4})
		s := w.search("*:*")
		s.Order, s.Favourite = nil, hero
		w.expect("by relevance", s, 4, 2, 6, 5, 3, 1)
	},
	"offset and limit": func(w *world) {
		w.serve()
		w.put(newItems(1, 5)...)
		r := w.search("*:*")
		r.Limit, r.Offset = 2, 3
		p := w.page(r)
		w.equal("the last page", w.ids(p), []item.ID{2, 1})
		w.equal("its total", p.Total, int64(5))
		w.equal("no page after it", p.Next, library.Cursor(""))
		r.Offset = 99
		p = w.page(r)
		if p.Count != 0 || p.Total != 5 || p.Next != "" {
			w.Errorf("past the end: %d items of %d, next %q", p.Count, p.Total, p.Next)
		}
		r.Offset = 1 << 53
		w.equal("far past the end", w.page(r).Count, 0)
		r.Offset, r.Limit = 0, 0
		p = w.page(r)
		if p.Count != 0 || p.Total != 5 || len(p.Items) != 0 || p.Next != "" {
			w.Errorf("limit 0: %d items of %d, next %q", p.Count, p.Total, p.Next)
		}
	},
	"dates relative to now": func(w *world) {
		w.serve()
		w.put(newItem(1, created("2026-11-21T11:00:00Z")), newItem(2, created("2026-11-20T12:00:00Z")), newItem(3, created("2026-11-01T00:00:00Z")))
		w.expect("the last day", w.search("created_on:[now-1d TO *]"), 1, 2)
		w.clock.Advance(time.Hour)
		w.expect("an hour later", w.search("created_on:[now-1d TO *]"), 1)
		r := w.search("created_on:[now-1d TO *]")
		r.Now = start
		w.expect("as of before", r, 1, 2)
		w.expect("a stored query evaluates `now` anew at each read", func() library.Read {
			w.accept(filter("new", "created_on:[now-2h TO *]"))
			return library.Read{Property: shop, Filter: ref(filter("new", "")), Limit: 10}
		}(), 1)
		w.clock.Advance(time.Hour)
		w.expect("and moves on", library.Read{Property: shop, Filter: ref(filter("new", "")), Limit: 10})
	},
	"explanations": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach")), newItem(2, text("city")))
		w.accept(filter("wall", "beach AND approval_status:app"))
		r := library.Read{Property: shop, Filter: ref(filter("wall", "")), Audience: query.Private}
		in, err := w.lib.Explain(w.ctx(), r, 1)
		if err != nil {
			w.Fatal(err)
		}
		w.equal("an item that is in", in.Matched, true)
		out, err := w.lib.Explain(w.ctx(), r, 2)
		if err != nil {
			w.Fatal(err)
		}
		w.equal("an item that is out", out.Matched, false)
		if len(out.Children) != 2 || out.Children[0].Matched || !out.Children[1].Matched {
			w.Errorf("clause by clause: %+v, want the first to miss and the second to match", out.Children)
		}
		r.Where = w.query("city")
		in, err = w.lib.Explain(w.ctx(), r, 1)
		if err != nil {
			w.Fatal(err)
		}
		w.equal("excluded by the condition", in.Matched, false)
		_, err = w.lib.Explain(w.ctx(), r, 99)
		w.errorIs("an unknown item", err, library.ErrNotFound)
		r.Filter = &library.FilterRef{UUID: "none"}
		_, err = w.lib.Explain(w.ctx(), r, 1)
		w.errorIs("an unknown filter", err, library.ErrNotFound)
	},
}
