package librarytest

import (
	"fmt"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// follow reads a listing from page to page with cursors, and calls between after every page. As in the links of the HTTP API, each request
// with a cursor also has the offset of its page, which the library must ignore.
func (w *world) follow(r library.Read, between func(page int)) []item.ID {
	w.Helper()
	var all []item.ID
	for page := 0; ; page++ {
		p := w.page(r)
		all = append(all, w.ids(p)...)
		if p.Next == "" {
			return all
		}
		if page > 1000 {
			w.Fatal("a listing without end")
		}
		r.After = p.Next
		r.Offset += int64(r.Limit)
		if between != nil {
			between(page)
		}
	}
}

func (w *world) once(what string, got []item.ID, want []item.ID) {
	w.Helper()
	seen := map[item.ID]int{}
	for _, id := range got {
		seen[id]++
	}
	for _, id := range want {
		if seen[id] != 1 {
			w.Errorf("%s: item %d was listed %d times in %v", what, id, seen[id], got)
		}
	}
}

var pagingTests = map[string]func(*world){
	"only ids": func(w *world) {
		w.serve()
		w.put(newItems(1, 9)...)
		r := w.search("id:[2 TO 9]")
		r.Order, r.Limit, r.Offset = w.order("id:desc"), 3, 1
		r.OnlyIDs, r.Into = true, []byte("x")
		got, err := w.lib.Read(w.ctx(), r)
		if err != nil {
			w.Fatal(err)
		}
		w.equal("the ids", got.IDs, []item.ID{8, 7, 6})
		w.equal("the items", string(got.Items), "x")
		w.equal("the total", got.Total, int64(8))
		w.equal("the count", got.Count, 3)
		r.OnlyIDs, r.Into, r.After = false, nil, got.Next
		w.equal("the next page", w.ids(w.page(r)), []item.ID{5, 4, 3})
	},
	"cursors give every item once in every order": func(w *world) {
		w.serve()
		w.put(newItems(1, 9, campaign(1), platform("b"))...)
		w.put(newItems(10, 15, campaign(2))...)
		w.put(newItems(16, 23, platform("a"), created("2026-01-01T00:00:00Z"))...)
		w.tag("marketer_tags", "hero", 3, 17, 20)
		for _, order := range []string{
			"created_on:desc", "created_on:asc", "campaign:asc", "campaign:desc", "social_platform:desc,campaign:asc", "random", "_score:desc", "id:asc",
		} {
			for _, hero := range []*item.Tag{nil, {Namespace: "marketer_tags", Key: "hero"}} {
				r := w.search("*:*")
				r.Order, r.Seed, r.Favourite = w.order(order), "seed", hero
				whole := w.ids(w.page(r))
				for _, limit := range []int{1, 4, 23} {
					r.Limit = limit
					if got := w.follow(r, nil); !slices.Equal(got, whole) {
						w.Errorf("%s by %d (favourite %v): %v, want %v", order, limit, hero, got, whole)
					}
				}
			}
		}
	},
	"during writes each item that keeps its place is listed once": func(w *world) {
		w.serve()
		for _, order := range []string{"created_on:desc", "created_on:asc", "campaign:asc,id:desc", "random", "_score:desc"} {
			next := item.ID(1000)
			w.put(newItems(1, 30, text("beach"), campaign(5))...)
			r := w.search("beach")
			r.Order, r.Seed, r.Limit = w.order(order), "seed", 4
			gone := map[item.ID]bool{}
			got := w.follow(r, func(page int) {
				// Add items before the listing, within it and after it, delete one item, and patch one item without changing its position.
				w.put(newItem(next, text("beach"), created("2027-01-01T00:00:00Z")), newItem(next+1, text("beach"), created("2020-01-01T00:00:00Z"), campaign(5)),
					newItem(next+2, text("beach"), created("2026-11-21T12:00:15Z"), campaign(1)))
				next += 3
				if id := item.ID(29 - page); id > 1 {
					w.erase(id)
					gone[id] = true
				}
				w.patch(1, fmt.Sprintf(`{"configuration": {"page": %d}}`, page))
			})
			var want []item.ID
			for id := item.ID(1); id <= 30; id++ {
				if !gone[id] {
					want = append(want, id)
				}
			}
			w.once(order, got, want)
			for _, id := range w.ids(w.page(w.search("*:*"))) {
				w.erase(id)
			}
		}
	},
	"a cursor outlives a restart": func(w *world) {
		w.serve()
		w.put(newItems(1, 10)...)
		w.accept(filter("wall", "*:*"))
		for _, order := range []string{"created_on:desc", "random", "campaign:asc", "_score:desc"} {
			r := library.Read{Property: shop, Filter: ref(filter("wall", "")), Limit: 3, Order: w.order(order), Seed: "s"}
			whole := w.follow(r, nil)
			if got := w.follow(r, func(int) { w.restart() }); !slices.Equal(got, whole) {
				w.Errorf("%s: %v, want %v", order, got, whole)
			}
		}
	},
	"the item of a cursor is deleted": func(w *world) {
		w.serve()
		w.put(newItems(1, 6)...)
		r := w.search("*:*")
		r.Limit = 3
		p := w.page(r)
		w.erase(4)
		r.After = p.Next
		w.expect("after its deletion", r, 3, 2, 1)
	},
	"by relevance a cursor stays valid": func(w *world) {
		r := w.beaches()
		first := w.page(r)
		w.clock.Advance(time.Second)
		w.equal("the cursor of the same version", w.page(r).Next, first.Next)
		r.After = first.Next
		for _, later := range []func(){
			func() {}, func() { w.clock.Advance(time.Hour) }, w.restart,
			func() { w.put(newItems(10, 12, text("forest"))...); w.clock.Advance(time.Hour) },
			func() { w.put(newItem(13, text("beach and forest"))) },
			w.restart,
		} {
			later()
			w.equal("the second page", w.ids(w.page(r)), []item.ID{6, 5, 4})
		}
	},
	"by relevance a cursor continues at its item's current position": func(w *world) {
		r := w.beaches()
		r.After = w.page(r).Next // the cursor after item 7
		rewrite := func(id item.ID, options ...option) {
			w.change(library.Mutation{Put: newItem(id, options...), Replace: true})
		}
		rewrite(7, text("beach beach"))
		w.expect("it moved to the front", r, 9, 8, 6)
		rewrite(7, text("a beach and much else that makes the text longer"))
		w.expect("it moved to the end", r)
		rewrite(7, text("beach"))
		w.expect("it is back", r, 6, 5, 4)
	},
	"by relevance the item of a cursor is deleted": func(w *world) {
		r := w.beaches()
		r.Query = w.query("approval_status:app") // all items have the same score, and writes do not change it
		r.After = w.page(r).Next
		w.erase(7)
		w.put(newItems(10, 12, text("forest"))...)
		w.expect("its score and date determine its former position", r, 6, 5, 4)
		w.patch(6, `{"approval_status": "rej"}`)
		w.expect("the next one left", r, 5, 4, 3)
	},
	"by relevance a cursor follows its item into the favourites and out of them": func(w *world) {
		r := w.beaches()
		r.Favourite = &item.Tag{Namespace: "marketer_tags", Key: "hero"}
		w.tag("marketer_tags", "hero", 2, 4)
		r.After = w.page(r).Next // the cursor after item 9, which follows the favorites 4 and 2
		w.expect("unchanged", r, 8, 7, 6)
		w.tag("marketer_tags", "hero", 9)
		w.expect("it is a favourite now", r, 4, 2, 8)
		r.After, r.Limit = "", 2
		r.After = w.page(r).Next // the cursor after item 4, which follows the favorite 9
		w.expect("after a favourite", r, 2, 8)
		w.untag("hero", 4)
		w.expect("it is no longer a favourite", r, 3, 1)
	},
	"by relevance items that no longer match are omitted": func(w *world) {
		w.serve()
		w.put(newItems(1, 6, text("beach"))...)
		r := w.search("beach AND approval_status:app")
		r.Order, r.Limit = nil, 2
		p := w.page(r)
		w.patch(4, `{"approval_status": "rej"}`)
		w.erase(3)
		r.After = p.Next
		w.expect("the second page", r, 2, 1)
	},
	"a cursor is valid only for the listing that returned it": func(w *world) {
		w.accept(property(shop), property(wall))
		w.put(newItems(1, 6, text("beach"))...)
		w.accept(filter("wall", "beach"))
		r := w.search("*:*")
		r.Limit = 2
		next := w.page(r).Next
		for what, change := range map[string]func(*library.Read){
			"another query":      func(r *library.Read) { r.Query = w.query("beach") },
			"another order":      func(r *library.Read) { r.Order = w.order("id:asc") },
			"another condition":  func(r *library.Read) { r.Where = w.query("beach") },
			"another favourite":  func(r *library.Read) { r.Favourite = &item.Tag{Namespace: "a", Key: "b"} },
			"a filter":           func(r *library.Read) { r.Query, r.Filter = nil, ref(filter("wall", "")) },
			"another property":   func(r *library.Read) { r.Property = wall },
			"not a cursor":       func(r *library.Read) { r.After = "bm90IG91cnM" },
			"not even base64":    func(r *library.Read) { r.After = "%%%" },
			"a cursor cut short": func(r *library.Read) { r.After = r.After[:len(r.After)-2] },
			"a cursor altered":   func(r *library.Read) { r.After = "A" + r.After[1:]; r.After = r.After[:9] + "x" + r.After[10:] },
		} {
			changed := r
			changed.After = next
			change(&changed)
			_, err := w.lib.Read(w.ctx(), changed)
			wantError[*library.CursorError](w, what, err)
		}
		r.After, r.Limit = next, 3
		w.expect("another page size is the same listing", r, 4, 3, 2)
	},
	"a cursor does not reveal its content": func(w *world) {
		w.serve()
		w.put(newItem(1, submitted(`{"email":"annemarie@mail.example"}`)), newItem(2, submitted(`{"email":"bob@mail.example"}`)))
		r := w.search("*:*")
		r.Order, r.Limit = w.order("submission.email:asc"), 1
		next := string(w.page(r).Next)
		for _, secret := range []string{"annemarie", base64Of("annemarie@mail.example")} {
			if len(next) == 0 || containsFold(next, secret) {
				w.Errorf("the cursor %q shows %q", next, secret)
			}
		}
		w.equal("it still works", w.follow(r, nil), []item.ID{1, 2})
	},
}

// beaches stores nine items with equal scores. It returns a Read that searches for them by relevance, with three items on each page.
func (w *world) beaches() library.Read {
	w.serve()
	w.put(newItems(1, 9, text("beach"))...)
	r := w.search("beach")
	r.Order, r.Limit = nil, 3
	return r
}
