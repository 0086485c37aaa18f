package translate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Order contains the sort keys of a listing, with the most significant key first.
type Order []orderKey

// Order returns the OpenSearch sort keys for o. seed is the seed of a random order. If o contains a field of the default unit, ranks is the
// clause that gives each item the score to sort by (see defaultKey). Otherwise, ranks is nil.
func (t *Translator) Order(ctx context.Context, o query.Order, seed string) (out Order, ranks object, err error) {
	out = make(Order, len(o))
	for i, key := range o {
		if schema.KindOf(key.Field) == schema.OfDefault {
			if ranks != nil || o.Scored() {
				return nil, nil, &query.SyntaxError{
					Reason:   fmt.Sprintf("the key %s cannot be combined with relevance or with another field of the default unit", key.Field),
					Expected: "one field of the default unit, and no _score",
				}
			}
			if out[i], ranks, err = t.defaultKey(ctx, key); err != nil {
				return nil, nil, err
			}
			continue
		}
		switch key.Field {
		case query.ScoreKey:
			out[i] = scoreKey()
		case query.RandomKey:
			out[i] = randomKey(seed)
		default:
			f, ok := query.Lookup(key.Field)
			if !ok {
				return nil, nil, fmt.Errorf("sort: unknown field %q", key.Field)
			}
			out[i] = fieldKey(f, key.Desc)
		}
	}
	return out, ranks, nil
}

// Sorts returns the sort parameter of a search: the keys, followed by fields that break ties.
func (o Order) Sorts() []any {
	var list []any
	for _, k := range o {
		list = append(list, k.sorts...)
	}
	return append(list, sortBy(query.CreatedOn, true), sortBy("id", true))
}

// Place returns the place of a hit in the order, from its sort values.
func (o Order) Place(values []schema.SortValue, rest bool) (eval.Place, error) {
	p := eval.Place{Rest: rest, Values: make([]eval.SortValue, len(o))}
	var err error
	for i, k := range o {
		n := len(k.sorts)
		if len(values) < n+2 {
			return p, fmt.Errorf("parse the sort values of an OpenSearch hit: %d sort values are missing", n+2-len(values))
		}
		if p.Values[i], err = k.read(values[:n]); err != nil {
			return p, fmt.Errorf("parse the sort values of an OpenSearch hit: %w", err)
		}
		values = values[n:]
	}
	if len(values) != 2 {
		return p, fmt.Errorf("parse the sort values of an OpenSearch hit: %d sort values are left, want 2", len(values))
	}
	if err = json.Unmarshal(values[0].RawMessage, &p.Created); err == nil {
		err = json.Unmarshal(values[1].RawMessage, &p.ID)
	}
	if err != nil {
		return p, fmt.Errorf("parse the sort values of an OpenSearch hit: %w", err)
	}
	return p, nil
}

// After returns the search_after values for the part of the listing that comes after a place.
func (o Order) After(p eval.Place) ([]any, error) {
	if len(p.Values) != len(o) {
		return nil, &library.CursorError{Reason: "its number of sort keys differs from that of the listing: start again from the first page"}
	}
	var values []any
	for i, k := range o {
		values = append(values, k.write(p.Values[i], p.ID)...)
	}
	return append(values, p.Created, p.ID), nil
}
