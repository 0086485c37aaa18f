// Package translate translates plans of queries and sort orders to the language of OpenSearch, and adds clauses for the tags and units that
// rules of manifests assign. It sends no requests. It adds no meaning: package query/plan defines what a query means in every library.
//
// The package may import schema, definitions, eval, library, query and item.
package translate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// object is a JSON object of a request.
type object = map[string]any

// Translator translates plans to OpenSearch queries, for one state of a property's definitions.
type Translator struct {
	Catalogue *definitions.Catalogue
	// FirstSchema is true if the index can have the first schema.
	FirstSchema bool
	// Selector returns the plan of a rule's selector, or nil if the rule has no selector or the selector matches no item.
	Selector func(context.Context, *definitions.Rule) (plan.Node, error)
	// Warn reports that a selector cannot be translated, so that it matches no item.
	Warn func(*definitions.Rule, error)

	unitDocs *eval.Corpus
}

// Query translates a plan to a query.
func (t *Translator) Query(ctx context.Context, n plan.Node) (object, error) {
	return scope{t, schema.OfDefault}.node(ctx, n)
}

// Rule returns a query, without a score, for the items that carry the tag or the unit of a rule. reach is the highest kind of field to which
// rules apply in the selector.
func (t *Translator) Rule(ctx context.Context, r *definitions.Rule, reach schema.Kind) (object, error) {
	return scope{t, reach}.rule(ctx, r)
}

// Units returns the conversion units as documents.
func (t *Translator) Units() *eval.Corpus {
	if t.unitDocs == nil {
		t.unitDocs = unitCorpus(t.Catalogue)
	}
	return t.unitDocs
}

// scope translates one plan.
type scope struct {
	*Translator
	// reach is the highest kind of field to which rules apply. The selector of a tag sees only the items themselves (schema.OfItem). The selector
	// of a unit also sees the tags of rules (schema.OfTags).
	reach schema.Kind
}

// node translates one node of a plan.
func (t scope) node(ctx context.Context, n plan.Node) (object, error) {
	switch n := n.(type) {
	case plan.All:
		return object{"match_all": object{}}, nil
	case plan.None:
		return object{"match_none": object{}}, nil
	case plan.Bool:
		return t.group(ctx, n)
	case plan.DisMax:
		nodes, err := t.alternatives(ctx, n.Nodes)
		return object{"dis_max": object{"queries": nodes}}, err
	case plan.Const:
		if group, ok := n.Node.(plan.Bool); ok && len(group.Must)+len(group.MustNot) == 0 {
			nodes, err := t.alternatives(ctx, group.Should)
			return constant(AnyOf(nodes), n.Score), err
		}
		inner, err := t.node(ctx, n.Node)
		return constant(inner, n.Score), err
	case plan.Boost:
		inner, err := t.node(ctx, n.Node)
		return object{"bool": object{"must": inner, "boost": n.Factor}}, err
	case plan.Term, plan.Phrase, plan.Pattern, plan.Fuzzy, plan.IntRange, plan.FloatRange, plan.TermRange, plan.Exists:
		return t.leaf(ctx, n.(plan.Leaf))
	}
	return nil, fmt.Errorf("translate a query: unknown node %T", n)
}

// leaf translates a leaf. The query includes the values that manifests add.
func (t scope) leaf(ctx context.Context, n plan.Leaf) (object, error) {
	switch k := schema.KindOf(n.LooksAt().Name); {
	case k == schema.OfTags && t.reach >= schema.OfTags:
		return t.tagged(ctx, n)
	case k == schema.OfUnits && t.reach >= schema.OfUnits:
		return t.attached(ctx, n)
	case k == schema.OfDefault && t.reach >= schema.OfUnits:
		return t.byDefault(ctx, n)
	}
	return t.own(n)
}

func (t scope) nodes(ctx context.Context, list []plan.Node) ([]object, error) {
	out := make([]object, len(list))
	for i, n := range list {
		var err error
		if out[i], err = t.node(ctx, n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// alternatives translates nodes of which one match is enough, and the best score counts. A field pattern is such a node for each field. It
// can match more dynamic fields than the number of clauses that OpenSearch accepts (query.MaxExpansion), so alternatives joins the tests
// for single terms in the same index field: they count as one clause, and have the same score.
func (t scope) alternatives(ctx context.Context, list []plan.Node) ([]object, error) {
	var others []plan.Node
	var fields []string
	terms := map[string][]string{}
	for _, n := range list {
		in, term, ok := t.single(n)
		if !ok {
			others = append(others, n)
			continue
		}
		for _, field := range in {
			if terms[field] == nil {
				fields = append(fields, field)
			}
			terms[field] = append(terms[field], term)
		}
	}
	nodes, err := t.nodes(ctx, others)
	for _, field := range fields {
		nodes = append(nodes, constant(object{"terms": object{field: terms[field]}}, 1))
	}
	return nodes, err
}

// single returns the index fields and the term of a leaf that tests a dynamic field for one term, with the score 1. It returns false for
// other nodes, and if a manifest can add values to the field.
func (t scope) single(n plan.Node) (fields []string, term string, ok bool) {
	leaf, ok := n.(plan.Leaf)
	if !ok || !query.Dynamic(leaf.LooksAt().Name) || t.ruled(leaf.LooksAt().Name) {
		return nil, "", false
	}
	if word, ok := n.(plan.Term); ok {
		return t.Indexed(word.Field), schema.Cut(schema.PrefixOf(word.Field) + word.Text), true
	}
	if presence, ok := n.(plan.Exists); ok {
		return []string{schema.FieldPresent}, presence.Field.Name, true
	}
	return nil, "", false
}

// ruled reports whether a manifest adds a tag to a field that the translator sees.
func (t scope) ruled(field string) bool {
	return t.reach >= schema.OfTags && slices.ContainsFunc(t.Catalogue.TagRules, func(r *definitions.Rule) bool {
		return query.TagFieldName(r.Tag.Namespace) == field
	})
}

func (t scope) group(ctx context.Context, n plan.Bool) (object, error) {
	group := object{}
	for name, list := range map[string][]plan.Node{"must": n.Must, "should": n.Should, "must_not": n.MustNot} {
		if len(list) == 0 {
			continue
		}
		nodes, err := t.nodes(ctx, list)
		if err != nil {
			return nil, err
		}
		group[name] = nodes
	}
	if len(n.Must) == 0 {
		group["minimum_should_match"] = 1
	}
	return object{"bool": group}, nil
}

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
