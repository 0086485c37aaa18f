package translate

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// own translates a leaf for the values that items have themselves.
func (t *Translator) own(n plan.Leaf) (object, error) {
	var queries []object
	for _, field := range t.Indexed(n.LooksAt()) {
		q, err := leaf(n, field)
		if err != nil {
			return nil, err
		}
		queries = append(queries, q)
	}
	if len(queries) == 1 {
		return queries[0], nil
	}
	return object{"dis_max": object{"queries": queries}}, nil
}

// leaf translates a leaf for the values in a field of the index. OpenSearch scores texts and boolean values in the same way as the other
// libraries. Every other match has the score 1. Only the function pattern sends text that OpenSearch parses.
func leaf(n plan.Leaf, field string) (object, error) {
	switch n := n.(type) {
	case plan.Term:
		return term(n, field), nil
	case plan.Phrase:
		words := make([]string, len(n.Words))
		for i, w := range n.Words {
			words[i] = w.Text
		}
		return object{"match_phrase": object{field: object{"query": strings.Join(words, " "), "slop": n.Slop}}}, nil
	case plan.Pattern:
		q, err := pattern(n, field)
		return constant(q, 1), err
	case plan.Fuzzy:
		return fuzzy(n, field), nil
	case plan.IntRange:
		return constant(intRange(n), 1), nil
	case plan.FloatRange:
		return constant(floatRange(n), 1), nil
	case plan.TermRange:
		return constant(termRange(n, field), 1), nil
	case plan.Exists:
		return constant(object{"term": object{schema.FieldPresent: n.Field.Name}}, 1), nil
	}
	return nil, fmt.Errorf("translate a query: unknown leaf %T", n)
}

// Indexed returns the fields of the index that can contain the values of a field. There are two only for members of submissions, and only
// as long as an index can have the first schema. Exactly one of the two then contains values.
func (t *Translator) Indexed(f query.Field) []string {
	fields := []string{schema.Indexed(f)}
	if fields[0] == schema.FieldSubmission && t.FirstSchema {
		fields = append(fields, schema.FieldDynamic)
	}
	return fields
}

func term(n plan.Term, field string) object {
	switch n.Field.Type {
	case query.Text:
		return object{"term": object{field: object{"value": n.Text}}}
	case query.Boolean:
		return object{"term": object{field: object{"value": n.Text == "true"}}}
	case query.Keyword, query.Long, query.Double, query.Date:
	}
	return constant(object{"term": object{field: object{"value": schema.Cut(schema.PrefixOf(n.Field) + n.Text)}}}, 1)
}

// pattern returns a query for the terms that an automaton accepts. The automaton's expression is printed together with the field's prefix,
// so no pattern can match terms of another field.
func pattern(n plan.Pattern, field string) (object, error) {
	prefix := schema.PrefixOf(n.Field)
	if text := automaton.LiteralPrefix(n.Automaton); text != "" {
		return object{"prefix": object{field: object{"value": prefix + text}}}, nil
	}
	source, ok := automaton.Source(n.Automaton)
	if !ok {
		return nil, fmt.Errorf("translate a query: the automaton of the pattern %s has no expression", n.Source)
	}
	text := automaton.Concat(automaton.Literal(prefix), source.Trim(query.Folded)).Print()
	if len(text) > schema.LongestPattern {
		return object{"match_none": object{}}, nil
	}
	return object{"regexp": object{field: object{"value": text, "flags": "INTERSECTION", "max_determinized_states": 100_000}}}, nil
}

func fuzzy(n plan.Fuzzy, field string) object {
	prefix := schema.PrefixOf(n.Field)
	return object{"fuzzy": object{field: object{
		"value": prefix + n.Text, "fuzziness": n.Edits, "max_expansions": n.MaxExpansions, "transpositions": true,
		"prefix_length": utf8.RuneCountInString(prefix),
	}}}
}

func termRange(n plan.TermRange, field string) object {
	prefix := schema.PrefixOf(n.Field)
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
	return object{"range": object{field: bounds}}
}
