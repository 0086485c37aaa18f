package translate

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query"
)

// defaultKey returns the sort key for a field of the default unit. No document contains this field, so defaultKey also returns a clause
// that gives each item a score: the rank of its default unit's value among the values of all units.
func (t *Translator) defaultKey(ctx context.Context, key query.Key) (orderKey, object, error) {
	f, _ := query.Lookup(key.Field)
	of := map[int64]eval.SortValue{} // by unit
	var values []eval.SortValue
	for doc := range t.Units().Docs() {
		if value := doc.SortValue(f); !value.Missing {
			of[doc.ID()], values = value, append(values, value)
		}
	}
	compare := func(a, b eval.SortValue) int { return a.Compare(b, false) }
	slices.SortFunc(values, compare)
	values = slices.CompactFunc(values, func(a, b eval.SortValue) bool { return compare(a, b) == 0 })
	rank := func(value eval.SortValue) (int, bool) {
		at, found := slices.BinarySearchFunc(values, value, compare)
		return at + 2, found
	}
	// An item without a value comes last in both directions.
	missing := 1
	if !key.Desc {
		missing = len(values) + 2
	}
	ranks, err := t.scoredByDefault(ctx, func(u *definitions.Unit) int {
		if u == nil {
			return missing
		}
		value, has := of[u.ID]
		if !has {
			return missing
		}
		at, _ := rank(value)
		return at
	})
	if err != nil {
		return orderKey{}, nil, err
	}
	return orderKey{
		sorts: []any{object{"_score": object{"order": direction(key.Desc)}}},
		read: func(sorted []schema.SortValue) (eval.SortValue, error) {
			var rank float64
			err := json.Unmarshal(sorted[0].RawMessage, &rank)
			if at := int(rank) - 2; err == nil && at >= 0 && at < len(values) {
				return values[at], nil
			}
			return eval.SortValue{Missing: true}, err
		},
		write: func(value eval.SortValue, _ item.ID) []any {
			if value.Missing {
				return []any{missing}
			}
			at, found := rank(value)
			if !found {
				return []any{float64(at) - 0.5} // no unit has this value now
			}
			return []any{at}
		},
	}, ranks, nil
}
