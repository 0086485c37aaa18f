package opensearch

import (
	"context"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// unitCorpus returns a document for each conversion unit, as an item that shows only this unit. Leaves on the fields of units are
// evaluated over these documents.
func unitCorpus(c *definitions.Catalogue) *eval.Corpus {
	corpus := eval.NewCorpus()
	for _, u := range c.Units {
		corpus.Put(eval.NewDoc(u.ID, 0, (&item.Item{}).Values([]item.Unit{u.Unit}, &u.Unit, nil)))
	}
	return corpus
}

// matching returns the ids of the units that match a leaf.
func (t translator) matching(ctx context.Context, n plan.Node) (map[int64]bool, error) {
	hits, err := search(ctx, t.units(), n)
	ids := make(map[int64]bool, len(hits))
	for _, h := range hits {
		ids[h.Doc.ID()] = true
	}
	return ids, err
}

// attached translates a leaf on a field of the units that items show.
func (t translator) attached(ctx context.Context, n plan.Node) (object, error) {
	ids, err := t.matching(ctx, n)
	if err != nil {
		return nil, err
	}
	shown, err := t.showing(ctx, func(u *definitions.Unit) bool { return ids[u.ID] })
	return constant(shown, 1), err
}

// showing returns a query for the items that show any of the selected units, as their own or by a rule.
func (t translator) showing(ctx context.Context, which func(*definitions.Unit) bool) (object, error) {
	var queries []object
	if own := t.own(which); own != nil {
		queries = append(queries, own)
	}
	for _, r := range t.catalogue.UnitRules {
		u := t.catalogue.Unit(r.Unit)
		if u == nil || !which(u) {
			continue
		}
		rule, err := translator{t.view, ofTags}.rule(ctx, r)
		if err != nil {
			return nil, err
		}
		queries = append(queries, rule)
	}
	return anyOf(queries), nil
}

// own returns a query for the items that have any of the selected units as their own, or nil if no unit is selected.
func (t translator) own(which func(*definitions.Unit) bool) object {
	words := []string{}
	for _, u := range t.catalogue.Units {
		if which(u) {
			words = append(words, strconv.FormatInt(u.ID, 10))
		}
	}
	if len(words) == 0 {
		return nil
	}
	return object{"terms": object{fieldUnits: words}}
}

// byDefault translates a leaf on a field of the default unit: the first shown unit that is not archived, otherwise the property's.
func (t translator) byDefault(ctx context.Context, n plan.Node) (object, error) {
	ids, err := t.matching(ctx, n)
	if err != nil {
		return nil, err
	}
	return t.defaultIn(ctx, ids)
}

// defaultIn returns a query for the items whose default unit is one of the given ids.
func (t translator) defaultIn(ctx context.Context, ids map[int64]bool) (object, error) {
	live := func(u *definitions.Unit) bool { return !u.Archived }
	wanted := func(u *definitions.Unit) bool { return live(u) && ids[u.ID] }
	other := func(u *definitions.Unit) bool { return live(u) && !ids[u.ID] }
	var queries []object
	ownLive := t.own(live)
	if own := t.own(wanted); own != nil {
		queries = append(queries, t.firstOwn(own, wanted, other))
	}
	// Units by rule follow, ordered by id.
	var before []object
	for _, r := range t.catalogue.UnitRules {
		u := t.catalogue.Unit(r.Unit)
		if u == nil || u.Archived {
			continue
		}
		rule, err := translator{t.view, ofTags}.rule(ctx, r)
		if err != nil {
			return nil, err
		}
		if ids[u.ID] {
			earlier := append([]object{}, before...)
			if ownLive != nil {
				earlier = append(earlier, ownLive)
			}
			queries = append(queries, butNot(rule, earlier...))
		} else {
			before = append(before, rule)
		}
	}
	if d := t.catalogue.Default; d != nil && ids[d.ID] {
		shown, err := t.showing(ctx, live)
		if err != nil {
			return nil, err
		}
		queries = append(queries, butNot(object{"match_all": object{}}, shown))
	}
	return constant(anyOf(queries), 1), nil
}

// firstOwn returns a query for the items with a wanted unit before every other live unit.
func (t translator) firstOwn(own object, wanted, other func(*definitions.Unit) bool) object {
	spans := func(which func(*definitions.Unit) bool) []object {
		var list []object
		for _, u := range t.catalogue.Units {
			if which(u) {
				list = append(list, object{"span_term": object{fieldUnits: strconv.FormatInt(u.ID, 10)}})
			}
		}
		return list
	}
	others := spans(other)
	if len(others) == 0 {
		return own
	}
	// Between the start of an item's list and the first wanted unit, there is no other live unit.
	first := object{"span_not": object{
		"include": object{"span_or": object{"clauses": spans(wanted)}},
		"exclude": object{"span_or": object{"clauses": others}},
		"pre":     maxUnits,
	}}
	return first
}

// maxUnits exceeds the number of own units that an item can have.
const maxUnits = 10 * item.MaxUnits
