package librarytest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

var conditionTests = map[string]func(*world){
	"a patch or deletion of an item that has changed": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach")))
		first := w.digest()
		patch := func(d item.Digest, body string) error {
			return w.write(library.Mutation{Patch: w.parsePatch(body), ID: 1, If: &d})[0].Err
		}
		if err := patch(first, `{"campaign": 12}`); err != nil {
			w.Fatal(err)
		}
		second := w.digest()
		w.errorIs("a patch of an older state", patch(first, `{"campaign": 13}`), library.ErrChanged)
		o := w.write(library.Mutation{Delete: true, ID: 1, If: &first})[0]
		w.errorIs("a deletion of an older state", o.Err, library.ErrChanged)
		w.equal("the id of the outcome", o.ID, item.ID(1))
		w.finds("campaign:12", 1)
		w.equal("the digest after refusals", w.digest(), second)
		w.restart()
		w.equal("the digest after a restart", w.digest(), second)
		w.change(library.Mutation{Delete: true, ID: 1, If: &second})
		w.errorIs("a patch of an item that does not exist", patch(second, `{"campaign": 14}`), library.ErrNotFound)
	},
	"several conditions in one write": func(w *world) {
		w.serve()
		w.put(newItem(1))
		d := w.digest()
		outcomes := w.write(
			library.Mutation{Patch: w.parsePatch(`{"campaign": 12}`), ID: 1, If: &d},
			library.Mutation{Patch: w.parsePatch(`{"campaign": 13}`), ID: 1, If: &d},
			library.Mutation{Delete: true, ID: 1, If: &d})
		if outcomes[0].Err != nil {
			w.Errorf("the first: %v", outcomes[0].Err)
		}
		for _, o := range outcomes[1:] {
			w.errorIs("a later one", o.Err, library.ErrChanged)
		}
		w.finds("campaign:12", 1)
	},
	"the digest covers the item, but no manifests": func(w *world) {
		w.serve()
		w.put(newItem(1, text("beach")))
		seen := map[item.Digest]string{}
		differs := func(what string) {
			w.Helper()
			d := w.digest()
			if before, ok := seen[d]; ok {
				w.Errorf("%s has the digest of %s", what, before)
			}
			seen[d] = what
		}
		differs("the new item")
		w.patch(1, `{"submission": {"email": "a@mail.example"}}`)
		differs("the item with a submission")
		w.tag("marketer_tags", "summer", 1)
		differs("the tagged item")
		w.accept(tagRule("fresh", "beach", nil), unitRule("sandals", "", []item.ID{1}))
		w.expectUnits(1, unitID("sandals"))
		if seen[w.digest()] == "" {
			w.Error("a manifest changes the digest")
		}
		w.patch(1, `{"activate_units": [`+itoa(unitID("sandals"))+`]}`)
		differs("the item with a unit of its own")
	},
	"an edit of a filter": func(w *world) {
		w.serve()
		d := httpFilter("Beaches", "beach")
		w.accept(d)
		refusal := errors.New("not this filter")
		_, err := w.lib.EditFilter(w.ctx(), shop, *ref(d), func(now library.FilterRecord) (*library.Filter, error) {
			w.equal("the query that edit sees", now.Query, "beach")
			return nil, refusal
		})
		w.errorIs("a refused edit", err, refusal)
		stored, err := w.lib.EditFilter(w.ctx(), shop, library.FilterRef{ID: d.Filter.ID}, func(now library.FilterRecord) (*library.Filter, error) {
			next := now.Filter
			next.Query = "city"
			return &next, nil
		})
		if err != nil {
			w.Fatal(err)
		}
		w.equal("the returned query", stored.Query, "city")
		got, err := w.lib.Filter(shop, *ref(d))
		if err != nil {
			w.Fatal(err)
		}
		w.equal("the stored filter", got, stored)
		_, err = w.lib.EditFilter(w.ctx(), shop, *ref(d), func(now library.FilterRecord) (*library.Filter, error) {
			next := now.Filter
			next.Query = "("
			return &next, nil
		})
		wantError[*query.SyntaxError](w, "an invalid query", err)
		_, err = w.lib.EditFilter(w.ctx(), shop, library.FilterRef{ID: 17}, func(library.FilterRecord) (*library.Filter, error) {
			w.Error("edit is called without a filter")
			return nil, nil
		})
		w.errorIs("an unknown filter", err, library.ErrNotFound)
	},
	"one of many writers wins": func(w *world) {
		w.serve()
		Compete(w.T, w.lib)
	},
}

// digest returns the digest of the item 1 of shop.
func (w *world) digest() item.Digest {
	w.Helper()
	d, err := digestOf(w.ctx(), w.lib, 1)
	if err != nil {
		w.Fatal(err)
	}
	return d
}

func digestOf(ctx context.Context, l library.Library, id item.ID) (d item.Digest, err error) {
	_, err = l.ReadItem(ctx, library.ItemRead{Property: shop, ID: id, Audience: query.Private, Digest: &d})
	return d, err
}

// Compete tests conditional writes of 16 concurrent writers, which are distributed over the given replicas of one library. The library must
// serve the property shop/default.
func Compete(t *testing.T, replicas ...library.Library) {
	t.Helper()
	const writers, rounds = 16, 6
	lib := func(n int) library.Library { return replicas[n%len(replicas)] }
	each := func(write func(n int) error) (winners []int) {
		t.Helper()
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for n := range writers {
			wg.Go(func() { errs[n] = write(n) })
		}
		wg.Wait()
		for n, err := range errs {
			switch {
			case err == nil:
				winners = append(winners, n)
			case !errors.Is(err, library.ErrChanged) && !errors.Is(err, library.ErrNotFound):
				t.Errorf("writer %d: %v", n, err)
			}
		}
		return winners
	}
	write := func(n int, m library.Mutation) error {
		outcomes, err := lib(n).Write(t.Context(), shop, []library.Mutation{m})
		if err != nil {
			return err
		}
		return outcomes[0].Err
	}
	patch := func(campaign int) *item.Patch {
		p, err := item.ParsePatch(fmt.Appendf(nil, `{"campaign": %d}`, campaign))
		if err != nil {
			panic(err) // the text is constant except for a number
		}
		return p
	}
	campaigns := func(l library.Library, campaign int) int64 {
		t.Helper()
		page, err := l.Read(t.Context(), library.Read{Property: shop, Audience: query.Private, Query: query.FieldTerm("campaign", itoa(int64(campaign)))})
		if err != nil {
			t.Fatal(err)
		}
		return page.Total
	}
	digest := func(id item.ID) *item.Digest {
		t.Helper()
		d, err := digestOf(t.Context(), lib(int(id)), id)
		if err != nil {
			t.Fatal(err)
		}
		return &d
	}

	if err := write(0, library.Mutation{Put: newItem(1)}); err != nil {
		t.Fatal(err)
	}
	for round := range rounds {
		seen := digest(1)
		winners := each(func(n int) error {
			return write(n, library.Mutation{Patch: patch(100*(round+1) + n), ID: 1, If: seen})
		})
		if len(winners) != 1 {
			t.Fatalf("round %d: the patches of the writers %v took effect", round, winners)
		}
		for n := range replicas {
			if found := campaigns(lib(n), 100*(round+1)+winners[0]); found != 1 {
				t.Errorf("round %d: the patch of the winner is not found", round)
			}
		}
	}
	for round := range rounds {
		id := item.ID(100 + round)
		if err := write(0, library.Mutation{Put: newItem(id)}); err != nil {
			t.Fatal(err)
		}
		seen := digest(id)
		winners := each(func(n int) error {
			if n%4 < 2 { // both kinds of writers use all replicas
				return write(n, library.Mutation{Delete: true, ID: id, If: seen})
			}
			return write(n, library.Mutation{Patch: patch(10_000 + 100*round + n), ID: id, If: seen})
		})
		// Several replicas may report the same deletion as their own, because a response may be lost.
		deleted := len(winners) > 0 && winners[0]%4 < 2
		for _, n := range winners[min(1, len(winners)):] {
			if !deleted || n%4 >= 2 {
				t.Errorf("round %d: the writes of the writers %v took effect", round, winners)
			}
		}
		if _, err := digestOf(t.Context(), lib(0), id); len(winners) == 0 || errors.Is(err, library.ErrNotFound) != deleted {
			t.Errorf("round %d: the writers %v won, then %v", round, winners, err)
		}
	}

	d := httpFilter("contested", "0")
	if results, err := lib(0).Apply(t.Context(), []library.Definition{d}); err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	for round := range rounds {
		winners := each(func(n int) error {
			_, err := lib(n).EditFilter(t.Context(), shop, *ref(d), func(now library.FilterRecord) (*library.Filter, error) {
				if now.Query != itoa(int64(round)) {
					return nil, library.ErrChanged
				}
				next := now.Filter
				next.Query, next.Name = itoa(int64(round+1)), fmt.Sprint("by ", n)
				return &next, nil
			})
			return err
		})
		if len(winners) != 1 {
			t.Fatalf("round %d: the edits of the writers %v took effect", round, winners)
		}
		if now, err := lib(winners[0]).Filter(shop, *ref(d)); err != nil || now.Name != fmt.Sprint("by ", winners[0]) {
			t.Errorf("round %d: the filter is %s (%v), but writer %d won", round, now.Name, err, winners[0])
		}
	}
}
