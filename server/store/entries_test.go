package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// crowd makes random definitions that contend for few things, among some that nobody contends for.
type crowd struct{ *rand.Rand }

var crowdStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (r crowd) property() library.PropertyID {
	if r.IntN(4) == 0 {
		return wall
	}
	return shop
}

func (r crowd) definition() library.Definition {
	d := library.Definition{Property: r.property(), Created: crowdStart.Add(time.Duration(r.IntN(4)) * time.Hour)}
	kind := library.KindToken + library.Kind(r.IntN(4))
	d.Owner = library.Owner{Install: "cluster", Kind: kind, Namespace: "shop", Name: fmt.Sprintf("n%d", r.IntN(12))}
	id := int64(1 + r.IntN(8))
	key := benchWords[r.IntN(6)]
	switch kind {
	case library.KindToken:
		d.Token = &library.Token{}
		for range 1 + r.IntN(2) {
			d.Token.Values = append(d.Token.Values, library.TokenValue{
				Digest: library.Digest{byte(r.IntN(9))}, Since: crowdStart.Add(time.Duration(r.IntN(3)) * time.Hour),
			})
		}
	case library.KindFilter:
		d.Filter = &library.Filter{UUID: fmt.Sprintf("uuid-%d", id), ID: id, Name: key, Query: "text:" + key}
		switch r.IntN(3) {
		case 0:
			d.Owner, d.Created = library.Owner{}, time.Time{}
		case 1:
			d.Filter.UUID, d.Filter.Adopt = "", true
		}
	case library.KindTag:
		d.Tag = &library.TagRule{Tag: item.Tag{Namespace: "marketer_tags", Key: key}, Selector: "text:" + key}
	case library.KindUnit:
		d.Unit = &library.UnitRule{Unit: item.Unit{ID: id, Name: key}, Default: r.IntN(3) == 0}
		if r.IntN(4) == 0 {
			d.Owner, d.Created, d.Unit.Default = library.Owner{}, time.Time{}, false
		}
	}
	return d
}

// bystanders are definitions that nobody contends for, enough that a change of a few is not judged as a whole.
func bystanders() []library.Definition {
	defs := []library.Definition{shopProperty()}
	for i := range 40 {
		defs = append(defs, library.Definition{
			Property: shop, Owner: library.Owner{Install: "cluster", Kind: library.KindFilter, Namespace: "shop", Name: fmt.Sprintf("bystander-%d", i)},
			Filter: &library.Filter{UUID: fmt.Sprintf("bystander-%d", i), ID: int64(1000 + i), Name: "bystander", Query: "*:*"},
		})
	}
	return defs
}

// view is everything that a catalogue shows, so that two can be compared.
type view struct {
	Spec      library.Property
	Filters   []library.FilterRecord
	ByUUID    []string
	ByID      []int64
	Units     []Unit
	ByUnit    []int64
	Default   *Unit
	TagRules  []Rule
	UnitRules []Rule
	Parts     int
}

func viewOf(c *Catalogue) view {
	v := view{Spec: c.Spec, Default: c.Default, Parts: c.parts.len()}
	for _, f := range c.filters.all() {
		v.Filters = append(v.Filters, f.Record)
	}
	for uuid, f := range c.byUUID.all() {
		v.ByUUID = append(v.ByUUID, uuid+"="+f.Record.UUID)
	}
	for id, f := range c.byID.all() {
		v.ByID = append(v.ByID, id, f.Record.ID)
	}
	for _, u := range c.Units {
		v.Units = append(v.Units, *u)
	}
	for id, u := range c.units.all() {
		v.ByUnit = append(v.ByUnit, id, u.ID)
	}
	for _, r := range c.TagRules {
		v.TagRules = append(v.TagRules, *r)
	}
	for _, r := range c.UnitRules {
		v.UnitRules = append(v.UnitRules, *r)
	}
	return v
}

// checkServed compares what a store serves with what it would serve if all its definitions were judged anew.
func checkServed(t *testing.T, s *Store) {
	t.Helper()
	s.mu.RLock()
	defer s.mu.RUnlock()
	got := s.served
	bySource := map[source]*entry{}
	for at, h := range got.entries.of.all() {
		bySource[at] = h.entry
	}
	want := arbitrate(bySource)
	for at, h := range want.of.all() {
		g := got.entries.get(at)
		if diff := cmp.Diff(h.served(), g.served()); diff != "" || fmt.Sprint(h.verdict.Err) != fmt.Sprint(g.verdict.Err) || h.verdict.Fallback != g.verdict.Fallback {
			t.Fatalf("%s: %v (fallback %v), want %v (%v) (-want +got):\n%s", at.owner, g.verdict.Err, g.verdict.Fallback, h.verdict.Err, h.verdict.Fallback, diff)
		}
		if g.good != nil && g.verdict.Err == nil {
			t.Fatalf("%s is served and keeps the version of before", at.owner)
		}
	}
	// Lists under a stake are in the order in which they came.
	members := func(all entries) map[library.Stake]map[source]int {
		out := map[library.Stake]map[source]int{}
		for stake, sources := range all.stakes.all() {
			out[stake] = map[source]int{}
			for _, s := range sources {
				out[stake][s]++
			}
		}
		return out
	}
	if diff := cmp.Diff(members(want), members(got.entries), cmp.AllowUnexported(source{})); diff != "" {
		t.Fatalf("stakes (-want +got):\n%s", diff)
	}
	catalogues, err := newCatalogues(want, nil)
	if err != nil {
		t.Fatal(err)
	}
	views := func(of map[library.PropertyID]*Catalogue) map[library.PropertyID]view {
		out := map[library.PropertyID]view{}
		for p, c := range of {
			out[p] = viewOf(c)
		}
		return out
	}
	if diff := cmp.Diff(views(catalogues), views(got.catalogues)); diff != "" {
		t.Fatalf("catalogues (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tokensOf(want), s.tokens.current); diff != "" {
		t.Fatalf("tokens (-want +got):\n%s", diff)
	}
}

// TestChangesAreJudgedAsTheWhole holds what is decided about a change to what would be decided about everything, over random
// changes.
func TestChangesAreJudgedAsTheWhole(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s, err := Open(Options{Dir: t.TempDir()}, none{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Apply(t.Context(), bystanders()); err != nil {
				t.Fatal(err)
			}
			r := crowd{rand.New(rand.NewPCG(seed, 3))}
			for range 120 {
				switch n := r.IntN(20); {
				case n == 0:
					// The other property comes and goes: everything is judged.
					if _, err := s.Remove(t.Context(), []library.Owner{wallProperty().Owner}); err != nil {
						t.Fatal(err)
					}
				case n == 1:
					if _, err := s.Apply(t.Context(), []library.Definition{wallProperty()}); err != nil {
						t.Fatal(err)
					}
				case n < 6:
					owner := r.definition().Owner
					if _, err := s.Remove(t.Context(), []library.Owner{owner}); err != nil {
						t.Fatal(err)
					}
				case n == 6:
					ref := library.FilterRef{ID: int64(1 + r.IntN(8))}
					// Most of the time there is none that may be removed.
					_ = s.RemoveFilter(t.Context(), r.property(), ref)
				default:
					defs := make([]library.Definition, 1+r.IntN(3))
					for i := range defs {
						defs[i] = r.definition()
					}
					if _, err := s.Apply(t.Context(), defs); err != nil {
						t.Fatal(err)
					}
				}
				checkServed(t, s)
			}
		})
	}
}

// TestDefinitionsThatShareACommit has requests of one group judged one after the other.
func TestDefinitionsThatShareACommit(t *testing.T) {
	s, err := Open(Options{Dir: t.TempDir()}, none{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Apply(t.Context(), bystanders()); err != nil {
		t.Fatal(err)
	}
	tag := func(name, key string, created time.Time) []library.Definition {
		return []library.Definition{{
			Property: shop, Owner: library.Owner{Install: "cluster", Kind: library.KindTag, Namespace: "shop", Name: name}, Created: created,
			Tag: &library.TagRule{Tag: item.Tag{Namespace: "marketer_tags", Key: key}},
		}}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var group []request
	var results [][]library.Result
	for i, defs := range [][]library.Definition{
		tag("a", "summer", crowdStart.Add(time.Hour)),
		tag("late", "summer", crowdStart.Add(2*time.Hour)), // a is there already, and older
		{{Property: shop, Owner: library.Owner{Install: "cluster", Kind: library.KindTag, Namespace: "shop", Name: "bad"}, Tag: &library.TagRule{Selector: "tags:x"}}},
		tag("b", "winter", crowdStart),
		tag("nobody-waits", "autumn", crowdStart), // its caller has gone
		tag("early", "summer", crowdStart),        // older than a, which loses
	} {
		result := make([]library.Result, 1)
		results = append(results, result)
		r := request{shares: withDefinitions, ctx: t.Context(), done: make(chan error, 1), stage: func(c *change) error { return c.apply(defs, result) }}
		if i == 4 {
			r.ctx = gone
		}
		group = append(group, r)
	}
	before := s.Version()
	s.serve(group)
	if got := s.Version() - before; got != 1 {
		t.Errorf("%d commits, want 1", got)
	}
	var got []string
	for i, r := range group {
		said := fmt.Sprint(<-r.done)
		if said == "<nil>" {
			said = fmt.Sprintf("%v, displaced %v", results[i][0].Err, results[i][0].Displaced)
			if errors.Is(results[i][0].Err, library.ErrInvalid) {
				said = "refused"
			}
		}
		got = append(got, said)
	}
	if diff := cmp.Diff([]string{
		"<nil>, displaced []",
		"tag marketer_tags:summer is held by Tag shop/a, displaced []",
		"refused",
		"<nil>, displaced []",
		"context canceled",
		"<nil>, displaced [Tag shop/a]",
	}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	var tags []string
	for _, r := range s.Catalogue(shop).TagRules {
		tags = append(tags, r.Owner.Name+" "+r.Tag.Key)
	}
	if diff := cmp.Diff([]string{"b winter", "early summer"}, tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	checkServed(t, s)
}
