package opensearch

import (
	"context"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// unitCorpus makes a document of each conversion unit, as an item shows it that has it alone: a leaf on the fields of units
// is evaluated over these.
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

// attached writes a leaf on a field of the units that items show.
func (t translator) attached(ctx context.Context, n plan.Node) (object, error) {
	ids, err := t.matching(ctx, n)
	if err != nil {
		return nil, err
	}
	shown, err := t.showing(ctx, func(u *definitions.Unit) bool { return ids[u.ID] })
	return constant(shown, 1), err
}

// showing writes which items show any of some units: as their own, or by a rule.
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

// own writes which items have any of some units of their own; nil for no unit.
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

// byDefault writes a leaf on a field of the default unit: the first shown unit that is not archived, else the property's.
func (t translator) byDefault(ctx context.Context, n plan.Node) (object, error) {
	ids, err := t.matching(ctx, n)
	if err != nil {
		return nil, err
	}
	return t.defaultIn(ctx, ids)
}

// defaultIn writes which items have any of some units as their default one.
func (t translator) defaultIn(ctx context.Context, ids map[int64]bool) (object, error) {
	live := func(u *definitions.Unit) bool { return !u.Archived }
	wanted := func(u *definitions.Unit) bool { return live(u) && ids[u.ID] }
	other := func(u *definitions.Unit) bool { return live(u) && !ids[u.ID] }
	var queries []object
	ownLive := t.own(live)
	if own := t.own(wanted); own != nil {
		queries = append(queries, t.firstOwn(own, wanted, other))
	}
	// Units by rule follow in the order of their ids.
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

// firstOwn writes which items have a wanted unit before every other live one.
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
	// A wanted unit with no other one in front of it: the span of an item's list up to the first wanted unit holds none.
	first := object{"span_not": object{
		"include": object{"span_or": object{"clauses": spans(wanted)}},
		"exclude": object{"span_or": object{"clauses": others}},
		"pre":     maxUnits,
	}}
	return first
}

// maxUnits is more than the number of units that an item can have of its own.
const maxUnits = 10 * item.MaxUnits
