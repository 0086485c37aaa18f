package librarytest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

var erasureTests = map[string]func(*world){
	"a deleted item is removed everywhere": func(w *world) {
		w.serve()
		w.accept(tagRule("summer", "*:*", []item.ID{1}), unitRule("sandals", "*:*", []item.ID{1}), filter("wall", "*:*"))
		w.put(newItem(1, text("xylophone"), tagged("vibe", "bold"), submitted(`{"email":"ann@mail.example"}`)), newItem(2))
		r := w.search("xylophone OR approval_status:app")
		r.Order, r.Limit = nil, 1
		cursor := w.page(r).Next
		w.erase(1)
		w.finds("xylophone")
		w.finds("tags.vibe.key:bold")
		w.finds("tags.marketer_tags.key:summer", 2)
		w.finds(`submission.\*:ann*`)
		w.finds("id:1")
		r.After = cursor
		for _, it := range w.items(w.page(r)) {
			w.equal("after the cursor", it.ID, item.ID(2))
		}
		_, err := w.lib.ItemTags(w.ctx(), shop, 1)
		w.errorIs("its tags", err, library.ErrNotFound)
		_, err = w.lib.Explain(w.ctx(), w.search("*:*"), 1)
		w.errorIs("an explanation", err, library.ErrNotFound)
		w.equal("lines of an export", len(w.export(shop, "")), 1)
		w.restart()
		w.finds("*:*", 2)
	},
}

var restartTests = map[string]func(*world){
	"a restart preserves everything": func(w *world) {
		w.accept(property(shop), property(wall))
		w.accept(
			filter("wall", "beach", order("id:asc"), heroesFirst),
			tagRule("summer", "beach", []item.ID{2, 99}), unitRule("sandals", "tags.marketer_tags.key:summer", nil, byDefault),
			httpFilter("HTTP", "city"), token("front", []byte{1}),
		)
		w.accept(filter("adopted", "*:*", adopt(httpFilter("HTTP", "").Filter.ID)))
		wantError[*library.ConflictError](w, "a younger claim", w.apply(tagRule("summer", "city", nil, named("second"), age(1)))[0].Err)
		w.put(newItem(1, text("beach"), submitted(`{"email":"ann@mail.example"}`)), newItem(2, tagged("vibe", "bold")), newItem(3, text("city")))
		key := w.lib.AuthorKey()
		look := func() []any {
			var all []any
			for _, q := range []string{"*:*", "beach", "tags.marketer_tags.key:summer", "activate_units.name:sandals", "_exists_:submission.email"} {
				p := w.page(w.search(q))
				all = append(all, p.Total, string(p.Items))
			}
			filters, _, err := w.lib.Filters(shop, 0, 0)
			if err != nil {
				w.Fatal(err)
			}
			units, err := w.lib.Units(shop)
			if err != nil {
				w.Fatal(err)
			}
			return append(all, filters, units, w.lib.State(w.ctx()).Definitions, w.lib.Properties())
		}
		before := look()
		w.restart()
		for i, now := range look() {
			w.equal(fmt.Sprintf("look %d", i), now, before[i])
		}
		w.equal("the author key", w.lib.AuthorKey(), key)
		r := w.apply(tagRule("summer", "city", nil, named("second"), age(1)))[0]
		wantError[*library.ConflictError](w, "the younger claim again", r.Err)
		w.equal("unchanged", r.Changed, false)
		w.remove(owner(library.KindTag, "shop", "summer"))
		w.finds("tags.marketer_tags.key:summer", 3)
		w.put(newItem(99))
	},
	"a closed library returns ErrClosed": func(w *world) {
		w.serve()
		if err := w.lib.Close(); err != nil {
			w.Fatal(err)
		}
		_, err := w.lib.Read(w.ctx(), w.search("*:*"))
		w.errorIs("reading", err, library.ErrClosed)
		_, err = w.lib.Write(w.ctx(), shop, []library.Mutation{{Put: newItem(1)}})
		w.errorIs("writing", err, library.ErrClosed)
		_, err = w.lib.Apply(w.ctx(), []library.Definition{property(shop)})
		w.errorIs("applying", err, library.ErrClosed)
		if s := w.lib.State(w.ctx()); s.Ready {
			w.Error("ready, though closed")
		}
		w.restart()
	},
}

var concurrencyTests = map[string]func(*world){
	"concurrent writes, reads and applies": func(w *world) {
		w.serve()
		w.put(newItems(1, 20, text("beach"))...)
		w.accept(filter("wall", "beach"), tagRule("fresh", "created_on:[now-1h TO *]", nil))
		const writers, rounds = 4, 12
		var wg sync.WaitGroup
		fail := make(chan string, 1024)
		run := func(f func(round int) error) {
			wg.Go(func() {
				for round := range rounds {
					if err := f(round); err != nil {
						fail <- err.Error()
						return
					}
				}
			})
		}
		for n := range writers {
			run(func(round int) error {
				id := item.ID(1000 + n*100 + round)
				outcomes, err := w.lib.Write(w.ctx(), shop, []library.Mutation{
					{Put: newItem(id, text("beach"))}, {Tag: &item.Tag{Namespace: "vibe", Key: "bold"}, IDs: []item.ID{id}},
				})
				if err != nil {
					return err
				}
				for _, o := range outcomes {
					if o.Err != nil {
						return o.Err
					}
				}
				// A read after a write must see the written data.
				tags, err := w.lib.ItemTags(w.ctx(), shop, id)
				if err == nil && !slices.Contains(tags, item.Tag{Namespace: "vibe", Key: "bold"}) {
					err = fmt.Errorf("item %d was written and is not tagged: %v", id, tags)
				}
				return err
			})
		}
		run(func(round int) error {
			_, err := w.lib.Apply(w.ctx(), []library.Definition{
				filter("wall", fmt.Sprintf("beach AND NOT campaign:%d", round)), tagRule("summer", "beach", []item.ID{item.ID(round)}),
				unitRule("sandals", "beach", nil), token("front", []byte{byte(round + 1)}),
			})
			return err
		})
		for _, order := range []string{"created_on:desc", "_score:desc"} {
			r := library.Read{Property: shop, Filter: ref(filter("wall", "")), Limit: 5, Order: w.order(order)}
			run(func(int) error {
				r := r
				seen := map[item.ID]bool{}
				for {
					p, err := w.lib.Read(w.ctx(), r)
					if err != nil {
						return err
					}
					for _, id := range w.ids(p) {
						if seen[id] {
							return fmt.Errorf("item %d was listed twice", id)
						}
						seen[id] = true
					}
					if p.Next == "" {
						break
					}
					r.After = p.Next
				}
				for id := item.ID(1); id <= 20; id++ {
					if !seen[id] {
						return fmt.Errorf("item %d was not listed", id)
					}
				}
				return nil
			})
		}
		run(func(int) error {
			for _, err := range w.lib.Export(w.ctx(), shop, nil) {
				if err != nil {
					return err
				}
			}
			w.lib.State(w.ctx())
			_, _, err := w.lib.Filters(shop, 0, 0)
			return err
		})
		wg.Wait()
		close(fail)
		for message := range fail {
			w.Error(message)
		}
		w.equal("items", w.lib.State(w.ctx()).Items, int64(20+writers*rounds))
		w.restart()
		w.equal("items after a restart", w.lib.State(w.ctx()).Items, int64(20+writers*rounds))
	},
	"concurrent writes draw distinct ids": func(w *world) {
		w.serve()
		var mu sync.Mutex
		drawn := map[item.ID]int{}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 10 {
					o, err := w.lib.Write(w.ctx(), shop, []library.Mutation{{Put: &item.Item{Content: item.Content{ContentType: item.Image}}}})
					if err != nil || o[0].Err != nil {
						w.Errorf("write: %v, %v", err, o)
						return
					}
					mu.Lock()
					drawn[o[0].ID]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		w.equal("different ids", len(drawn), 80)
	},
}
