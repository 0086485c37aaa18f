package translate

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query"
)

// orderKey is one key of an order. It describes how OpenSearch sorts by the key, and how the key's values are read from hits and sent in
// search_after. A key has one sort value, except for the random key, which has two.
type orderKey struct {
	sorts []any
	read  func(values []schema.SortValue) (eval.SortValue, error)
	write func(eval.SortValue, item.ID) []any
}

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

// sortBy returns the sort parameter for a field of the index. Items without a value come last.
func sortBy(field string, desc bool) object {
	return object{field: object{"order": direction(desc), "missing": "_last"}}
}

func direction(desc bool) string {
	if desc {
		return "desc"
	}
	return "asc"
}

func scoreKey() orderKey {
	return orderKey{
		sorts: []any{object{"_score": "desc"}},
		read: func(values []schema.SortValue) (v eval.SortValue, err error) {
			err = json.Unmarshal(values[0].RawMessage, (*float64)(&v.Float))
			return v, err
		},
		write: func(v eval.SortValue, _ item.ID) []any { return []any{float64(v.Float)} },
	}
}

// fieldKey returns the sort key for a field of the catalogue. For a missing integer, OpenSearch returns the largest or the smallest int64,
// whichever comes last. For a missing keyword, it returns null.
func fieldKey(f query.Field, desc bool) orderKey {
	switch {
	case query.Dynamic(f.Name):
		return dynamicKey(f, desc)
	case f.Type == query.Double:
		return doubleKey(f, desc)
	case f.Type == query.Keyword:
		return orderKey{
			sorts: []any{sortBy(f.Name, desc)},
			read: func(values []schema.SortValue) (v eval.SortValue, err error) {
				v.Missing = bytes.Equal(values[0].RawMessage, []byte("null"))
				err = json.Unmarshal(values[0].RawMessage, &v.Str)
				return v, err
			},
			write: func(v eval.SortValue, _ item.ID) []any {
				if v.Missing {
					return []any{nil}
				}
				return []any{v.Str}
			},
		}
	}
	missing := int64(math.MaxInt64)
	if desc {
		missing = math.MinInt64
	}
	return orderKey{
		sorts: []any{sortBy(f.Name, desc)},
		read: func(values []schema.SortValue) (v eval.SortValue, err error) {
			err = json.Unmarshal(values[0].RawMessage, &v.Int)
			if v.Int == missing {
				v = eval.SortValue{Missing: true}
			}
			return v, err
		},
		write: func(v eval.SortValue, _ item.ID) []any {
			if v.Missing {
				return []any{missing}
			}
			return []any{v.Int}
		},
	}
}

// doubleKey returns the sort key for a field with floating-point numbers. For a missing number, OpenSearch returns an infinity.
func doubleKey(f query.Field, desc bool) orderKey {
	missing := math.Inf(1)
	if desc {
		missing = math.Inf(-1)
	}
	return orderKey{
		sorts: []any{sortBy(f.Name, desc)},
		read: func(values []schema.SortValue) (eval.SortValue, error) {
			d, err := strconv.ParseFloat(string(bytes.Trim(values[0].RawMessage, `"`)), 64)
			if d == missing {
				return eval.SortValue{Missing: true}, err
			}
			return eval.SortValue{Float: eval.Number(d)}, err
		},
		write: func(v eval.SortValue, _ item.ID) []any {
			d := float64(v.Float)
			if v.Missing {
				d = missing
			}
			if math.IsInf(d, 0) {
				return []any{map[bool]string{true: "Infinity", false: "-Infinity"}[d > 0]}
			}
			return []any{d}
		},
	}
}

// dynamicSource is a script that sorts by a dynamic field. It finds the value of the field among the values of schema.FieldDynamic or, for members
// of submissions, of schema.FieldSubmission, which an index with the first schema does not have. The first character of its result puts items
// without a value last.
//
//go:embed dynamic.painless
var dynamicSource string

func dynamicKey(f query.Field, desc bool) orderKey {
	there, missing := "0", "1"
	if desc {
		there, missing = "1", "0"
	}
	return orderKey{
		sorts: []any{object{"_script": object{"type": "string", "order": direction(desc), "script": object{
			"source": dynamicSource,
			"params": object{"field": schema.Indexed(f), "first": schema.FieldDynamic, "prefix": f.Name + "\x00", "there": there, "missing": missing},
		}}}},
		read: func(values []schema.SortValue) (v eval.SortValue, err error) {
			var text string
			if err = json.Unmarshal(values[0].RawMessage, &text); err != nil || text == "" {
				return v, err
			}
			if text[:1] == missing {
				return eval.SortValue{Missing: true}, nil
			}
			return eval.SortValue{Str: text[1:]}, nil
		},
		write: func(v eval.SortValue, _ item.ID) []any {
			if v.Missing {
				return []any{missing}
			}
			return []any{there + v.Str}
		},
	}
}
