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
	c := contest{t, replicas}
	c.patch()
	c.remove()
	c.edit()
}

// contest lets several writers change the same data at the same time.
type contest struct {
	t        *testing.T
	replicas []library.Library
}

const (
	contestWriters = 16
	contestRounds  = 6
)

// replica returns the replica of a writer.
func (c contest) replica(writer int) library.Library { return c.replicas[writer%len(c.replicas)] }

// each lets all writers write at the same time, and returns the writers whose writes took effect.
func (c contest) each(write func(writer int) error) (winners []int) {
	c.t.Helper()
	errs := make([]error, contestWriters)
	var wg sync.WaitGroup
	for n := range contestWriters {
		wg.Go(func() { errs[n] = write(n) })
	}
	wg.Wait()
	for n, err := range errs {
		switch {
		case err == nil:
			winners = append(winners, n)
		case !errors.Is(err, library.ErrChanged) && !errors.Is(err, library.ErrNotFound):
			c.t.Errorf("writer %d: %v", n, err)
		}
	}
	return winners
}

func (c contest) write(writer int, m library.Mutation) error {
	outcomes, err := c.replica(writer).Write(c.t.Context(), shop, []library.Mutation{m})
	if err != nil {
		return err
	}
	return outcomes[0].Err
}

// create adds an item, and returns its digest.
func (c contest) create(id item.ID) *item.Digest {
	c.t.Helper()
	if err := c.write(0, library.Mutation{Put: newItem(id)}); err != nil {
		c.t.Fatal(err)
	}
	return c.digest(id)
}

func (c contest) digest(id item.ID) *item.Digest {
	c.t.Helper()
	d, err := digestOf(c.t.Context(), c.replica(int(id)), id)
	if err != nil {
		c.t.Fatal(err)
	}
	return &d
}

// setCampaign returns a patch, with which a read can tell the writers apart.
func (c contest) setCampaign(campaign int) *item.Patch {
	p, err := item.ParsePatch(fmt.Appendf(nil, `{"campaign": %d}`, campaign))
	if err != nil {
		panic(err) // the text is constant except for a number
	}
	return p
}

// patch checks that of several patches with the same condition, exactly one takes effect.
func (c contest) patch() {
	c.t.Helper()
	seen := c.create(1)
	for round := range contestRounds {
		winners := c.each(func(n int) error {
			return c.write(n, library.Mutation{Patch: c.setCampaign(100*(round+1) + n), ID: 1, If: seen})
		})
		if len(winners) != 1 {
			c.t.Fatalf("round %d: the patches of the writers %v took effect", round, winners)
		}
		for n := range c.replicas {
			campaign := query.FieldTerm("campaign", itoa(int64(100*(round+1)+winners[0])))
			page, err := c.replica(n).Read(c.t.Context(), library.Read{Property: shop, Audience: query.Private, Query: campaign})
			if err != nil || page.Total != 1 {
				c.t.Fatalf("round %d: the patch of the winner is not found (%v)", round, err)
			}
		}
		seen = c.digest(1)
	}
}

// remove checks that of several patches and deletions with the same condition, either one patch or the deletion takes effect.
func (c contest) remove() {
	c.t.Helper()
	for round := range contestRounds {
		id := item.ID(100 + round)
		seen := c.create(id)
		winners := c.each(func(n int) error {
			if n%4 < 2 { // both kinds of writers use all replicas
				return c.write(n, library.Mutation{Delete: true, ID: id, If: seen})
			}
			return c.write(n, library.Mutation{Patch: c.setCampaign(10_000 + 100*round + n), ID: id, If: seen})
		})
		// Several replicas may report the same deletion as their own, because a response may be lost.
		deleted := len(winners) > 0 && winners[0]%4 < 2
		for _, n := range winners[min(1, len(winners)):] {
			if !deleted || n%4 >= 2 {
				c.t.Errorf("round %d: the writes of the writers %v took effect", round, winners)
			}
		}
		if _, err := digestOf(c.t.Context(), c.replica(0), id); len(winners) == 0 || errors.Is(err, library.ErrNotFound) != deleted {
			c.t.Errorf("round %d: the writers %v won, then %v", round, winners, err)
		}
	}
}

// edit checks that of several edits of the same state of a filter, exactly one takes effect.
func (c contest) edit() {
	c.t.Helper()
	d := httpFilter("contested", "0")
	if results, err := c.replica(0).Apply(c.t.Context(), []library.Definition{d}); err != nil || results[0].Err != nil {
		c.t.Fatal(err, results)
	}
	for round := range contestRounds {
		winners := c.each(func(n int) error {
			_, err := c.replica(n).EditFilter(c.t.Context(), shop, *ref(d), func(now library.FilterRecord) (*library.Filter, error) {
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
			c.t.Fatalf("round %d: the edits of the writers %v took effect", round, winners)
		}
		if now, err := c.replica(winners[0]).Filter(shop, *ref(d)); err != nil || now.Name != fmt.Sprint("by ", winners[0]) {
			c.t.Errorf("round %d: the filter is %s (%v), but writer %d won", round, now.Name, err, winners[0])
		}
	}
}
