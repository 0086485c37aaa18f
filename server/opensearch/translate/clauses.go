package translate

import (
	"math"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// object is a JSON object of a request.
type object = map[string]any

// constant gives every match of a query the same score.
func constant(q object, score float32) object {
	return object{"constant_score": object{"filter": q, "boost": score}}
}

// AnyOf matches the items that at least one of the queries matches. Callers ignore the score.
func AnyOf(queries []object) object {
	switch len(queries) {
	case 0:
		return object{"match_none": object{}}
	case 1:
		return queries[0]
	}
	return object{"bool": object{"should": queries, "minimum_should_match": 1}}
}

// AllOf matches the items that all of the queries match. It has no score.
func AllOf(queries ...object) object { return object{"bool": object{"filter": queries}} }

// between returns a range query without a score. It leaves out bounds that are open.
func between(field string, lo, hi any, loOpen, hiOpen bool) object {
	bounds := object{}
	if !loOpen {
		bounds["gte"] = lo
	}
	if !hiOpen {
		bounds["lte"] = hi
	}
	return object{"range": object{field: bounds}}
}

func intRange(n plan.IntRange) object {
	if n.Field.Type == query.Boolean {
		return object{"terms": object{n.Field.Name: []bool{false, true}}}
	}
	return between(n.Field.Name, n.Lo, n.Hi, n.Lo == math.MinInt64, n.Hi == math.MaxInt64)
}

func floatRange(n plan.FloatRange) object {
	return between(n.Field.Name, n.Lo, n.Hi, math.IsInf(n.Lo, -1), math.IsInf(n.Hi, 1))
}
