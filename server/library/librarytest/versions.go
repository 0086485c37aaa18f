package librarytest

import (
	"encoding/json"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

var versionTests = map[string]func(*world){
	"not modified": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach")))
		r := w.search("*:*")
		p := w.page(r)
		if p.Version == "" {
			w.Fatal("a page without version")
		}
		r.IfVersion = p.Version
		_, err := w.lib.Read(w.ctx(), r)
		w.errorIs("the same again", err, library.ErrNotModified)
		r.IfVersion = "something else"
		w.page(r)
	},
	"every visible change changes the version": func(w *world) {
		w.serve()
		w.put(newItem(1), newItem(2))
		w.accept(filter("wall", "*:*"))
		r := library.Read{Property: shop, Filter: ref(filter("wall", "")), Limit: 10}
		last := w.page(r).Version
		for _, step := range []struct {
			what string
			do   func()
		}{
			{"an item more", func() { w.put(newItem(3)) }},
			{"an item changed", func() { w.patch(3, `{"featured": true}`) }},
			{"an item less", func() { w.erase(3) }},
			{"another query", func() { w.accept(filter("wall", "approval_status:app")) }},
			{"another order", func() { w.accept(filter("wall", "approval_status:app", order("id:asc"))) }},
			{"a unit", func() { w.accept(unitRule("sandals", "", []item.ID{1})) }},
			{"its name", func() {
				d := unitRule("sandals", "", []item.ID{1})
				d.Unit.Unit.Name = "boots"
				w.accept(d)
			}},
			{"a default unit", func() { w.accept(unitRule("house", "", nil, byDefault)) }},
			{"a favourite tag", func() { w.accept(filter("wall", "approval_status:app", heroesFirst)) }},
			{"an item tagged", func() { w.tag("marketer_tags", "hero", 2) }},
		} {
			step.do()
			read := r
			read.IfVersion = last
			p, err := w.lib.Read(w.ctx(), read)
			if err != nil {
				w.Errorf("after %s: %v", step.what, err)
				continue
			}
			last = p.Version
		}
	},
	"a page with now has an expiry": func(w *world) {
		w.serve()
		w.put(newItem(1, created("2026-11-21T11:30:00Z")), newItem(2, created("2026-11-21T12:45:00Z")))
		plain := w.page(w.search("*:*"))
		w.equal("without now never", plain.Expires.IsZero(), true)

		r := w.search("created_on:[now-1h TO now]")
		p := w.page(r)
		w.equal("items", w.ids(p), []item.ID{1})
		// Item 1 is exactly one hour old at 12:30, and older than one hour from the next millisecond on.
		boundary := time.Date(2026, 11, 21, 12, 30, 0, 1e6, time.UTC)
		if p.Expires.IsZero() || p.Expires.After(boundary) || !p.Expires.After(start) {
			w.Errorf("expires at %v, want after the start and not after %v", p.Expires, boundary)
		}
		r.IfVersion = p.Version
		same, err := w.lib.Read(w.ctx(), r)
		w.errorIs("at the same instant", err, library.ErrNotModified)
		if same == nil || same.Version != p.Version || !same.Expires.Equal(p.Expires) {
			w.Errorf("not modified: %+v, want the version and the expiry of %s, %v", same, p.Version, p.Expires)
		}
		w.clock.Advance(31 * time.Minute)
		after, err := w.lib.Read(w.ctx(), r)
		if err != nil {
			w.Fatalf("once it has expired: %v", err)
		}
		w.equal("nothing is left", w.ids(after), []item.ID{})
		if after.Version == p.Version {
			w.Error("another page with the same version")
		}
		w.clock.Advance(24 * time.Hour)
		w.equal("past every date there is no next boundary", w.page(r).Expires.IsZero(), true)
	},
	"a rule with now makes pages expire": func(w *world) {
		w.serve()
		w.put(newItem(1, created("2026-11-21T11:30:00Z")))
		w.accept(unitRule("sandals", "created_on:[now-1h TO *]", nil))
		r := w.search("*:*")
		p := w.page(r)
		boundary := time.Date(2026, 11, 21, 12, 30, 0, 1e6, time.UTC)
		if p.Expires.IsZero() || p.Expires.After(boundary) {
			w.Errorf("expires at %v, want not after %v", p.Expires, boundary)
		}
		w.clock.Advance(31 * time.Minute)
		r.IfVersion = p.Version
		after, err := w.lib.Read(w.ctx(), r)
		if err != nil {
			w.Fatalf("once it has expired: %v", err)
		}
		w.equal("the unit", len(w.items(after)[0].Units), 0)
	},
	"state": func(w *world) {
		w.serve()
		w.put(newItems(1, 3)...)
		s := w.lib.State(w.ctx())
		if !s.Ready || s.Problem != "" || s.Items != 3 || s.PropertyItems[shop] != 3 || s.Definitions != 1 {
			w.Errorf("state %+v", s)
		}
		before := s.Version
		w.erase(3)
		if s = w.lib.State(w.ctx()); s.Version == before || s.Items != 2 {
			w.Errorf("state %+v after version %d", s, before)
		}
	},
	"the base of short links": func(w *world) {
		w.serve()
		w.put(newItem(1))
		r := w.search("*:*")
		r.BaseURL = "https://content.shop.example"
		var shown []struct {
			Link string `json:"shortened_permalink"`
		}
		if err := json.Unmarshal([]byte("["+string(w.page(r).Items)+"]"), &shown); err != nil {
			w.Fatal(err)
		}
		w.equal("the link", shown[0].Link, "https://content.shop.example/i/code1")
	},
}
