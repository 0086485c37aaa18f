package translate

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestLongTerms checks that a query is split if it names more units than a terms query of OpenSearch may contain.
func TestLongTerms(t *testing.T) {
	words := make([]string, 2*termsAtOnce+1)
	clauses := owning(words)["bool"].(object)["should"].([]object)
	if len(clauses) != 3 || len(clauses[2]["terms"].(object)[schema.FieldUnits].([]string)) != 1 {
		t.Errorf("%d clauses", len(clauses))
	}
}

// TestUnitRules checks that Listing and Others together find the rules that list an item.
func TestUnitRules(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	var rules []*definitions.Rule
	for range 200 {
		rule := &definitions.Rule{}
		for range r.IntN(2 * listedAtMost) {
			rule.IDs = append(rule.IDs, r.Int64N(100))
		}
		slices.Sort(rule.IDs)
		rule.IDs = slices.Compact(rule.IDs)
		if r.IntN(4) == 0 {
			rule.Selector = query.All{}
		}
		rules = append(rules, rule)
	}
	found := newUnitRules(rules)
	if n := len(found.Others); n == 0 || n == len(rules) {
		t.Errorf("%d of %d rules are in Others", n, len(rules))
	}
	for id := range item.ID(101) {
		var want []int
		for i, rule := range rules {
			if rule.Names(id) && !slices.Contains(found.Others, i) {
				want = append(want, i)
			}
		}
		if got := slices.Collect(found.Listing(id)); !slices.Equal(got, want) {
			t.Errorf("item %d: rules %v, want %v", id, got, want)
		}
	}
	for i, rule := range rules {
		if other := slices.Contains(found.Others, i); other != (rule.Selector != nil || len(rule.IDs) > listedAtMost) {
			t.Errorf("rule %d with %d items and the selector %v: in Others %v", i, len(rule.IDs), rule.Selector, other)
		}
	}
}
