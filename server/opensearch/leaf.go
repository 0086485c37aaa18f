package opensearch

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// leaf translates a leaf for the values that items have themselves. OpenSearch scores texts and boolean values in the same way as the
// other libraries. Every other match has the score 1.
func leaf(n plan.Leaf) (object, error) {
	switch n := n.(type) {
	case plan.Term:
		return term(n), nil
	case plan.Phrase:
		words := make([]string, len(n.Words))
		for i, w := range n.Words {
			words[i] = w.Text
		}
		return object{"match_phrase": object{indexed(n.Field): object{"query": strings.Join(words, " "), "slop": n.Slop}}}, nil
	case plan.Pattern:
		return constant(pattern(n), 1), nil
	case plan.Fuzzy:
		return fuzzy(n), nil
	case plan.IntRange:
		return constant(intRange(n), 1), nil
	case plan.FloatRange:
		return constant(floatRange(n), 1), nil
	case plan.TermRange:
		return constant(termRange(n), 1), nil
	case plan.Exists:
		return constant(object{"term": object{fieldPresent: n.Field.Name}}, 1), nil
	}
	return nil, fmt.Errorf("translate a query: unknown leaf %T", n)
}

// indexed returns the index field that contains the values of a field.
func indexed(f query.Field) string {
	switch {
	case f.Name == query.AllField:
		return fieldAll
	case query.Dynamic(f.Name):
		return fieldDynamic
	}
	return f.Name
}

// prefixOf returns the prefix of a field's terms in the index.
func prefixOf(f query.Field) string {
	if query.Dynamic(f.Name) {
		return f.Name + "\x00"
	}
	return ""
}

func term(n plan.Term) object {
	switch n.Field.Type {
	case query.Text:
		return object{"term": object{indexed(n.Field): object{"value": n.Text}}}
	case query.Boolean:
		return object{"term": object{n.Field.Name: object{"value": n.Text == "true"}}}
	case query.Keyword, query.Long, query.Double, query.Date:
	}
	return constant(object{"term": object{indexed(n.Field): object{"value": cut(prefixOf(n.Field) + n.Text)}}}, 1)
}

func pattern(n plan.Pattern) object {
	prefix := prefixOf(n.Field)
	if n.Regexp {
		source := query.Fold(strings.TrimSuffix(strings.TrimPrefix(n.Source, "/"), "/"))
		if prefix != "" {
			source = `"` + strings.ReplaceAll(prefix, `"`, `"\""`) + `"(` + source + ")"
		}
		return object{"regexp": object{indexed(n.Field): object{"value": source, "max_determinized_states": 100_000}}}
	}
	escape := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`)
	return object{"wildcard": object{indexed(n.Field): object{"value": escape.Replace(prefix) + query.Fold(n.Source)}}}
}

func fuzzy(n plan.Fuzzy) object {
	prefix := prefixOf(n.Field)
	return object{"fuzzy": object{indexed(n.Field): object{
		"value": prefix + n.Text, "fuzziness": n.Edits, "max_expansions": n.MaxExpansions, "transpositions": true,
		"prefix_length": utf8.RuneCountInString(prefix),
	}}}
}

func termRange(n plan.TermRange) object {
	prefix := prefixOf(n.Field)
	bounds := object{}
	switch {
	case !n.LoOpen && n.LoIncl:
		bounds["gte"] = prefix + n.Lo
	case !n.LoOpen:
		bounds["gt"] = prefix + n.Lo
	default:
		bounds["gte"] = prefix // a range without bounds would also match texts that contain no word
	}
	switch {
	case !n.HiOpen && n.HiIncl:
		bounds["lte"] = prefix + n.Hi
	case !n.HiOpen:
		bounds["lt"] = prefix + n.Hi
	case prefix != "":
		bounds["lt"] = n.Field.Name + "\x01"
	}
	return object{"range": object{indexed(n.Field): bounds}}
}
