package definitions

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

const (
	shop library.PropertyID = "shop/default"
	wall library.PropertyID = "wall/default"
)

func newProperty(p library.PropertyID) library.Definition {
	return library.Definition{
		Property: p, Owner: library.Owner{Install: "cluster", Kind: library.KindProperty, Namespace: string(p[:4]), Name: "default"},
		PropertySpec: &library.Property{PlatformPageID: library.PlatformPageID(p)},
	}
}

// keys are the tag keys and filter names of random definitions, which compete for them.
var keys = []string{"beach", "sunset", "city", "summer", "winter", "friends"}

// crowd makes random definitions, most of which compete for a few keys, ids and values.
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
	key := keys[r.IntN(6)]
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

// bystanders returns so many definitions without rivals that a change of a few definitions does not cause all definitions to be judged.
func bystanders() []library.Definition {
	defs := []library.Definition{newProperty(shop)}
	for i := range 40 {
		defs = append(defs, library.Definition{
			Property: shop, Owner: library.Owner{Install: "cluster", Kind: library.KindFilter, Namespace: "shop", Name: fmt.Sprintf("bystander-%d", i)},
			Filter: &library.Filter{UUID: fmt.Sprintf("bystander-%d", i), ID: int64(1000 + i), Name: "bystander", Query: "*:*"},
		})
	}
	return defs
}

// view is the visible content of a catalogue, for comparison.
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

// checkServed compares the definitions that a set serves with the result of judging all its definitions from scratch.
func checkServed(t *testing.T, got Set, tokens map[library.Owner]library.TokenEvent) {
	t.Helper()
	want := arbitrate(got.Entries())
	for at, h := range want.of.all() {
		g := got.entries.get(at)
		if diff := cmp.Diff(h.served(), g.served()); diff != "" || fmt.Sprint(h.verdict.Err) != fmt.Sprint(g.verdict.Err) || h.verdict.Fallback != g.verdict.Fallback {
			t.Fatalf("%s: %v (fallback %v), want %v (%v) (-want +got):\n%s", at.Owner, g.verdict.Err, g.verdict.Fallback, h.verdict.Err, h.verdict.Fallback, diff)
		}
		if g.Good != nil && g.verdict.Err == nil {
			t.Fatalf("%s is served and keeps the version of before", at.Owner)
		}
	}
	// The order of the sources of a stake depends on their arrival, so compare the lists as sets.
	members := func(all entries) map[library.Stake]map[Source]int {
		out := map[library.Stake]map[Source]int{}
		for stake, sources := range all.stakes.all() {
			out[stake] = map[Source]int{}
			for _, s := range sources {
				out[stake][s]++
			}
		}
		return out
	}
	if diff := cmp.Diff(members(want), members(got.entries)); diff != "" {
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
	if diff := cmp.Diff(Set{entries: want}.Tokens(), tokens); diff != "" {
		t.Fatalf("tokens (-want +got):\n%s", diff)
	}
}

// TestChangesAreJudgedAsTheWhole makes random changes, and compares the outcome of each change with the outcome of judging all definitions.
func TestChangesAreJudgedAsTheWhole(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			start, err := NewSet(nil)
			if err != nil {
				t.Fatal(err)
			}
			now, feed := start, NewTokenFeed()
			change := func(stage func(*Change) error) {
				t.Helper()
				c := NewChange(now)
				if err := stage(c); err != nil {
					t.Fatal(err)
				}
				now = c.Set
				if c.Tokens {
					feed.Set(now.Tokens())
				}
			}
			apply := func(defs ...library.Definition) {
				t.Helper()
				change(func(c *Change) error { return c.Apply(defs, crowdStart, make([]library.Result, len(defs))) })
			}
			remove := func(o library.Owner) {
				t.Helper()
				change(func(c *Change) error { _, err := c.Remove([]library.Owner{o}); return err })
			}
			apply(bystanders()...)
			r := crowd{rand.New(rand.NewPCG(seed, 3))}
			for range 120 {
				switch n := r.IntN(20); {
				case n == 0:
					// Removing or adding a Property causes all definitions to be judged again.
					remove(newProperty(wall).Owner)
				case n == 1:
					apply(newProperty(wall))
				case n < 6:
					remove(r.definition().Owner)
				case n == 6:
					ref := library.FilterRef{ID: int64(1 + r.IntN(8))}
					p := r.property()
					// Ignore the error: usually there is no such filter, or it cannot be removed.
					change(func(c *Change) error {
						_, _ = c.EditFilter(p, ref, crowdStart, func(library.FilterRecord) (*library.Filter, error) { return nil, nil })
						return nil
					})
				default:
					defs := make([]library.Definition, 1+r.IntN(3))
					for i := range defs {
						defs[i] = r.definition()
					}
					apply(defs...)
				}
				checkServed(t, now, feed.current)
			}
		})
	}
}
