package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// checkServed compares the definitions that a store serves with those that it would serve after judging all its definitions again.
func checkServed(t *testing.T, s *Store) {
	t.Helper()
	s.mu.RLock()
	defer s.mu.RUnlock()
	want, err := definitions.NewSet(s.served.set.Entries())
	if err != nil {
		t.Fatal(err)
	}
	type view struct {
		Spec      library.Property
		Filters   []library.FilterRecord
		Units     []*definitions.Unit
		TagRules  []*definitions.Rule
		UnitRules []*definitions.Rule
	}
	views := func(set definitions.Set) map[library.PropertyID]view {
		out := map[library.PropertyID]view{}
		for p, c := range set.Catalogues() {
			filters, _ := c.Filters(0, 0)
			out[p] = view{c.Spec, filters, c.Units, c.TagRules, c.UnitRules}
		}
		return out
	}
	if diff := cmp.Diff(views(want), views(s.served.set)); diff != "" {
		t.Fatalf("catalogues (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Tokens(), s.served.set.Tokens()); diff != "" {
		t.Fatalf("tokens (-want +got):\n%s", diff)
	}
}

// TestDefinitionsThatShareACommit checks that requests that share a commit get the same replies as if they were committed one after the
// other.
func TestDefinitionsThatShareACommit(t *testing.T) {
	s, err := Open(Options{Dir: t.TempDir()}, none{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// Store so many other definitions that a change of a few definitions does not cause all definitions to be judged again.
	defs := []library.Definition{shopProperty()}
	for i := range 40 {
		defs = append(defs, library.Definition{
			Property: shop, Owner: library.Owner{Install: "cluster", Kind: library.KindFilter, Namespace: "shop", Name: fmt.Sprintf("bystander-%d", i)},
			Filter: &library.Filter{UUID: fmt.Sprintf("bystander-%d", i), ID: int64(1000 + i), Name: "bystander", Query: "*:*"},
		})
	}
	if _, err := s.Apply(t.Context(), defs); err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
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
		tag("a", "summer", start.Add(time.Hour)),
		tag("late", "summer", start.Add(2*time.Hour)), // "a" already exists, and is older
		{{Property: shop, Owner: library.Owner{Install: "cluster", Kind: library.KindTag, Namespace: "shop", Name: "bad"}, Tag: &library.TagRule{Selector: "tags:x"}}},
		tag("b", "winter", start),
		tag("canceled", "autumn", start), // the caller has canceled this request
		tag("early", "summer", start),    // older than "a", so "a" loses the claim
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
