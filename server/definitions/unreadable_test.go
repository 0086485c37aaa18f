package definitions

import (
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// TestUnreadableSelector checks that a stored selector that this version cannot parse disables only itself: its rule still applies to the
// listed items, the rest of the property is served, and a valid version of the definition replaces it.
func TestUnreadableSelector(t *testing.T) {
	tag := func(name, selector string) library.Definition {
		return library.Definition{
			Property: shop, Owner: library.Owner{Install: "cluster", Kind: library.KindTag, Namespace: "shop", Name: name},
			Tag: &library.TagRule{Tag: item.Tag{Namespace: "vibe", Key: name}, Items: []item.ID{7}, Selector: selector},
		}
	}
	unit := library.Definition{
		Property: shop, Owner: library.Owner{Install: "cluster", Kind: library.KindUnit, Namespace: "shop", Name: "boots"},
		Unit: &library.UnitRule{Unit: item.Unit{ID: 5, Name: "boots"}, Selector: "text:(("},
	}
	stored := map[Source]*Entry{}
	for _, d := range []library.Definition{newProperty(shop), tag("old", "text:/)/ AND ("), tag("new", "text:beach"), unit} {
		e, err := NewEntry(d, nil, crowdStart)
		if err != nil {
			t.Fatal(err)
		}
		stored[SourceOf(d)] = e
	}
	set, err := NewSet(stored)
	if err != nil {
		t.Fatal(err)
	}
	rules := func(set Set) map[string]*Rule {
		out := map[string]*Rule{}
		for _, r := range append(set.Catalogue(shop).TagRules, set.Catalogue(shop).UnitRules...) {
			out[r.Owner.Name] = r
		}
		return out
	}
	before := rules(set)
	if r := before["old"]; r == nil || r.Selector != nil || !r.Names(7) {
		t.Errorf("the rule with the unreadable selector: %+v, want one for item 7 without a selector", r)
	}
	if r := before["new"]; r == nil || r.Selector == nil {
		t.Errorf("the other tag: %+v, want its selector", r)
	}
	if set.Catalogue(shop).Unit(5) == nil {
		t.Error("the unit with the unreadable selector is not served")
	}
	c := NewChange(set)
	results := make([]library.Result, 2)
	if err := c.Apply([]library.Definition{tag("old", "text:(("), tag("new", "text:city")}, crowdStart, results); err != nil || results[0].Err == nil || results[1].Err != nil {
		t.Fatalf("%v, %+v: want a refusal of the first definition", err, results)
	}
	if err := c.Apply([]library.Definition{tag("old", "text:sunset")}, crowdStart, results[:1]); err != nil || results[0].Err != nil {
		t.Fatal(err, results[0].Err)
	}
	if r := rules(c.Set)["old"]; r.Selector == nil {
		t.Error("the valid version did not replace the unreadable one")
	}
}
