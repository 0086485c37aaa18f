package translate

import (
	"cmp"
	"context"
	_ "embed"
	"iter"
	"slices"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// UnitRules finds the unit rules of an item among up to 65,536 rules, most of which list a few items.
type UnitRules struct {
	listed []listedItem // sorted
	// Others contains the rules that have a selector or list many items, by their positions in Catalogue.UnitRules.
	Others []int
}

// listedItem is an item of a rule, which is given by its position.
type listedItem struct {
	id   item.ID
	rule int
}

// listedAtMost is the maximum number of items of a rule in UnitRules.listed, which takes 16 bytes for each of them.
const listedAtMost = 16

func newUnitRules(rules []*definitions.Rule) *UnitRules {
	u := &UnitRules{}
	for i, r := range rules {
		if r.Selector != nil || len(r.IDs) > listedAtMost {
			u.Others = append(u.Others, i)
			continue
		}
		for _, id := range r.IDs {
			u.listed = append(u.listed, listedItem{id, i})
		}
	}
	slices.SortFunc(u.listed, func(a, b listedItem) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.rule, b.rule)) })
	return u
}

// Listing yields the positions of the rules, apart from Others, that list an item.
func (u *UnitRules) Listing(id item.ID) iter.Seq[int] {
	return func(yield func(int) bool) {
		i, _ := slices.BinarySearchFunc(u.listed, id, func(l listedItem, id item.ID) int { return cmp.Compare(l.id, id) })
		for ; i < len(u.listed) && u.listed[i].id == id; i++ {
			if !yield(u.listed[i].rule) {
				return
			}
		}
	}
}

// matching returns the ids of the units that match a leaf.
func (t scope) matching(ctx context.Context, n plan.Node) (map[int64]bool, error) {
	hits, err := Evaluate(ctx, t.Units(), n)
	ids := make(map[int64]bool, len(hits))
	for _, h := range hits {
		ids[h.Doc.ID()] = true
	}
	return ids, err
}

// attached translates a leaf on a field of the units that items show.
func (t scope) attached(ctx context.Context, n plan.Node) (object, error) {
	ids, err := t.matching(ctx, n)
	if err != nil {
		return nil, err
	}
	shown, err := t.showing(ctx, func(u *definitions.Unit) bool { return ids[u.ID] })
	return constant(shown, 1), err
}

// showing returns a query for the items that show any of the selected units, either as their own unit or because of a rule.
func (t scope) showing(ctx context.Context, which func(*definitions.Unit) bool) (object, error) {
	var queries []object
	if own := t.ownUnits(which); own != nil {
		queries = append(queries, own)
	}
	for _, r := range t.Catalogue.UnitRules {
		u := t.Catalogue.Unit(r.Unit)
		if u == nil || !which(u) {
			continue
		}
		rule, err := t.Translator.Rule(ctx, r, schema.OfTags)
		if err != nil {
			return nil, err
		}
		queries = append(queries, rule)
	}
	return AnyOf(queries), nil
}

// ownUnits returns a query for the items that have any of the selected units as their own unit, or nil if no unit is selected.
func (t scope) ownUnits(which func(*definitions.Unit) bool) object {
	words := []string{}
	for _, u := range t.Catalogue.Units {
		if which(u) {
			words = append(words, strconv.FormatInt(u.ID, 10))
		}
	}
	if len(words) == 0 {
		return nil
	}
	return owning(words)
}

// owning returns a query for the items that have any of the given units as their own unit. words contains the ids of the units in the
// form of schema.FieldUnits.
func owning(words []string) object {
	var queries []object
	for chunk := range slices.Chunk(words, termsAtOnce) {
		queries = append(queries, object{"terms": object{schema.FieldUnits: chunk}})
	}
	return AnyOf(queries)
}

// byDefault translates a leaf on a field of the default unit.
func (t scope) byDefault(ctx context.Context, n plan.Node) (object, error) {
	ids, err := t.matching(ctx, n)
	if err != nil {
		return nil, err
	}
	scored, err := t.scoredByDefault(ctx, func(u *definitions.Unit) int {
		if u != nil && ids[u.ID] {
			return 2
		}
		return 1
	})
	if err != nil {
		return nil, err
	}
	scored["function_score"].(object)["min_score"] = 2
	return constant(scored, 1), nil
}

// firstUnit is a script. Its parameter scores contains scores by unit id. For an item, the script returns the score of the first own unit
// that has a score.
//
//go:embed firstunit.painless
var firstUnit string

// scoredByDefault returns a query that matches all items and gives each item the score of its default unit. This is the first shown unit
// that is not archived, or otherwise the default unit of the property. For items without a default unit, score is called with nil. Scores
// begin at 1.
func (t *Translator) scoredByDefault(ctx context.Context, score func(*definitions.Unit) int) (object, error) {
	scores := map[string]int{}
	var live []string
	for _, u := range t.Catalogue.Units {
		if !u.Archived {
			id := strconv.FormatInt(u.ID, 10)
			scores[id], live = score(u), append(live, id)
		}
	}
	// The first function whose filter matches an item determines the item's score. An item's own units come before the units of rules, which
	// are ordered by id.
	var functions []object
	if live != nil {
		functions = append(functions, object{
			"filter":       owning(live),
			"script_score": object{"script": object{"source": firstUnit, "params": object{"field": schema.FieldUnitOrder, "scores": scores}}},
		})
	}
	for _, r := range t.Catalogue.UnitRules {
		u := t.Catalogue.Unit(r.Unit)
		if u == nil || u.Archived {
			continue
		}
		rule, err := t.Rule(ctx, r, schema.OfTags)
		if err != nil {
			return nil, err
		}
		functions = append(functions, object{"filter": rule, "weight": score(u)})
	}
	functions = append(functions, object{"weight": score(t.Catalogue.Default)})
	return object{"function_score": object{
		"query": object{"match_all": object{}}, "functions": functions, "score_mode": "first", "boost_mode": "replace",
	}}, nil
}
