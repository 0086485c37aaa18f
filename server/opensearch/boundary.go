package opensearch

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/opensearch/translate"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// expires returns the first time at which a listing can change without a write, because a query of the listing or of a rule depends on
// the time. The zero time means never.
func (v *view) expires(ctx context.Context, listing library.Listing) (time.Time, error) {
	parts := slices.Clone(listing.Parts)
	for _, r := range slices.Concat(v.catalogue.TagRules, v.catalogue.UnitRules) {
		if r.Selector != nil {
			parts = append(parts, library.Part{Query: r.Selector, Audience: query.Private})
		}
	}
	parts = slices.DeleteFunc(parts, func(p library.Part) bool { return !query.UsesNow(p.Query) })
	if len(parts) == 0 {
		return time.Time{}, nil
	}
	roots := func(t time.Time) ([]plan.Node, error) {
		roots := make([]plan.Node, 0, len(parts))
		for _, part := range parts {
			root, err := v.plan(ctx, part, t)
			if err != nil && !translate.IsAboutQuery(err) {
				return nil, err
			}
			if err == nil { // a part with an error does not match anything at any time
				roots = append(roots, root)
			}
		}
		return roots, nil
	}
	return plan.Boundary(v.now, roots, func(r plan.IntRange) (plan.Ends, error) { return v.ends(ctx, r) })
}

// ends finds two dates of items: the next date that leaves a range, and the next date that enters it. The bounds of the range move with
// the current time.
func (v *view) ends(ctx context.Context, r plan.IntRange) (plan.Ends, error) {
	if k := schema.KindOf(r.Field.Name); k == schema.OfUnits || k == schema.OfDefault {
		return v.unitEnds(r), nil
	}
	smallest := func(bound string, at int64) object {
		return object{
			"filter": object{"range": object{r.Field.Name: object{bound: at}}},
			"aggs":   object{"value": object{"min": object{"field": r.Field.Name}}},
		}
	}
	var answer endsAnswer
	err := v.search(ctx, object{"size": 0, "track_total_hits": false, "aggs": object{
		"leaving": smallest("gte", r.Lo), "entering": smallest("gt", r.Hi),
	}}, &answer)
	var e plan.Ends
	if err != nil {
		return plan.Ends{}, err
	}
	if at := answer.Aggregations.Leaving.Value.Value; at != nil {
		e.Leave, e.Leaving = true, int64(*at)
	}
	if at := answer.Aggregations.Entering.Value.Value; at != nil {
		e.Enter, e.Entering = true, int64(*at)
	}
	return e, nil
}

// endsAnswer is the response to the search of ends.
type endsAnswer struct {
	cluster.Searched
	Aggregations struct {
		Leaving  *smallestValue `json:"leaving"`
		Entering *smallestValue `json:"entering"`
	} `json:"aggregations"`
}

// smallestValue is the smallest value of a field in some items. The value is nil if no item has one.
type smallestValue struct {
	Value struct {
		Value *float64 `json:"value"`
	} `json:"value"`
}

func (a *endsAnswer) Lacks() string {
	return cmp.Or(a.Searched.Lacks(), cluster.Lacking(a.Aggregations.Leaving != nil && a.Aggregations.Entering != nil, "aggregations"))
}

// unitEnds is like ends, for the dates of units, which are in memory.
func (v *view) unitEnds(r plan.IntRange) plan.Ends {
	var e plan.Ends
	for _, u := range v.catalogue.Units {
		for f, value := range (&item.Item{}).Values([]item.Unit{u.Unit}, &u.Unit, nil) {
			if f.Name != r.Field.Name {
				continue
			}
			if at := value.Int; at >= r.Lo && (!e.Leave || at < e.Leaving) {
				e.Leave, e.Leaving = true, at
			}
			if at := value.Int; at > r.Hi && (!e.Enter || at < e.Entering) {
				e.Enter, e.Entering = true, at
			}
		}
	}
	return e
}
