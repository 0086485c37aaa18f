package translate

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"math"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
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
	sort := sortBy(f.Name, desc)
	if f.Name == query.LastModified { // an index with an earlier schema does not have it
		sort[f.Name].(object)["unmapped_type"] = "long"
	}
	return orderKey{
		sorts: []any{sort},
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

// dynamicSource is a script that sorts by a dynamic field. It finds the value of the field among the values of schema.FieldDynamic or, for
// members of submissions, of schema.FieldSubmission, which an index with the first schema does not have. The first character of its result
// puts items without a value last.
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
