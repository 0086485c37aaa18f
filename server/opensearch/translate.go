package opensearch

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// translator translates plans to OpenSearch queries, for one state of a property's definitions.
type translator struct {
	catalogue *definitions.Catalogue
	// firstSchema is true if the index can have the first schema.
	firstSchema bool
	// selector returns the plan of a rule's selector, or nil if the rule has no selector or the selector matches no item.
	selector func(context.Context, *definitions.Rule) (plan.Node, error)
	// warn reports that a selector cannot be translated, so that it matches no item.
	warn func(*definitions.Rule, error)

	unitDocs *eval.Corpus
}

// query translates a plan to a query.
func (t *translator) query(ctx context.Context, n plan.Node) (object, error) {
	return scope{t, ofDefault}.node(ctx, n)
}

// rule returns a query, without a score, for the items that carry the tag or the unit of a rule. reach is the highest kind of field to which
// rules apply in the selector.
func (t *translator) rule(ctx context.Context, r *definitions.Rule, reach kind) (object, error) {
	return scope{t, reach}.rule(ctx, r)
}

// units returns the conversion units as documents.
func (t *translator) units() *eval.Corpus {
	if t.unitDocs == nil {
		t.unitDocs = unitCorpus(t.catalogue)
	}
	return t.unitDocs
}

// scope translates one plan.
type scope struct {
	*translator
	// reach is the highest kind of field to which rules apply. The selector of a tag sees only the items themselves (ofItem). The selector
	// of a unit also sees the tags of rules (ofTags).
	reach kind
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
			return constant(anyOf(nodes), n.Score), err
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
	switch k := kindOf(n.LooksAt().Name); {
	case k == ofTags && t.reach >= ofTags:
		return t.tagged(ctx, n)
	case k == ofUnits && t.reach >= ofUnits:
		return t.attached(ctx, n)
	case k == ofDefault && t.reach >= ofUnits:
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
		return t.indexed(word.Field), cut(prefixOf(word.Field) + word.Text), true
	}
	if presence, ok := n.(plan.Exists); ok {
		return []string{fieldPresent}, presence.Field.Name, true
	}
	return nil, "", false
}

// ruled reports whether a manifest adds a tag to a field that the translator sees.
func (t scope) ruled(field string) bool {
	return t.reach >= ofTags && slices.ContainsFunc(t.catalogue.TagRules, func(r *definitions.Rule) bool {
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

// anyOf matches the items that at least one of the queries matches. Callers ignore the score.
func anyOf(queries []object) object {
	switch len(queries) {
	case 0:
		return object{"match_none": object{}}
	case 1:
		return queries[0]
	}
	return object{"bool": object{"should": queries, "minimum_should_match": 1}}
}

// allOf matches the items that all of the queries match. It has no score.
func allOf(queries ...object) object { return object{"bool": object{"filter": queries}} }

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
