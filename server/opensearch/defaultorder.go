package opensearch

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// defaultKey sorts by a field of the default unit, which is not part of any document. It returns clauses that give each item a
// score: the rank of its unit's value among the values of all units.
func (v *view) defaultKey(ctx context.Context, key query.Key) (orderKey, []object, error) {
	f, _ := query.Lookup(key.Field)
	holders := map[eval.SortValue]map[int64]bool{}
	valued := map[int64]bool{}
	for doc := range v.units().Docs() {
		value := doc.SortValue(f)
		if value.Missing {
			continue
		}
		if holders[value] == nil {
			holders[value] = map[int64]bool{}
		}
		holders[value][doc.ID()], valued[doc.ID()] = true, true
	}
	values := make([]eval.SortValue, 0, len(holders))
	for value := range holders {
		values = append(values, value)
	}
	compare := func(a, b eval.SortValue) int { return a.Compare(b, false) }
	slices.SortFunc(values, compare)

	t := translator{v, ofDefault}
	ranks := make([]object, 0, len(values)+1)
	for i, value := range values {
		having, err := t.defaultIn(ctx, holders[value])
		if err != nil {
			return orderKey{}, nil, err
		}
		ranks = append(ranks, constant(having, float32(i+1)))
	}
	// An item without a value comes last in both directions.
	missing := 0.0
	if !key.Desc {
		missing = float64(len(values) + 1)
		having, err := t.defaultIn(ctx, valued)
		if err != nil {
			return orderKey{}, nil, err
		}
		ranks = append(ranks, constant(butNot(object{"match_all": object{}}, having), float32(missing)))
	}
	return orderKey{
		sorts: []any{object{"_score": object{"order": direction(key.Desc)}}},
		read: func(sorted []json.RawMessage) (eval.SortValue, error) {
			var rank float64
			if err := json.Unmarshal(sorted[0], &rank); err != nil || rank == missing || int(rank) > len(values) {
				return eval.SortValue{Missing: true}, err
			}
			return values[int(rank)-1], nil
		},
		write: func(value eval.SortValue, _ item.ID) []any {
			if value.Missing {
				return []any{missing}
			}
			at, found := slices.BinarySearchFunc(values, value, compare)
			if !found {
				return []any{float64(at) + 0.5} // no unit has this value any longer
			}
			return []any{float64(at + 1)}
		},
	}, ranks, nil
}
