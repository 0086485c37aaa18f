// Package translate translates plans of queries and sort orders to the language of OpenSearch, and adds clauses for the tags and units that
// rules of manifests assign. It sends no requests. It adds no meaning: package query/plan defines what a query means in every library.
//
// The package may import schema, definitions, eval, library, query and item.
package translate

import (
	"context"
	"fmt"
	"slices"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// Query translates a plan to a query.
func (t *Translator) Query(ctx context.Context, n plan.Node) (object, error) {
	return scope{t, schema.OfDefault}.node(ctx, n)
}

// Rule returns a query, without a score, for the items that carry the tag or the unit of a rule. reach is the highest kind of field to which
// rules apply in the selector.
func (t *Translator) Rule(ctx context.Context, r *definitions.Rule, reach schema.Kind) (object, error) {
	return scope{t, reach}.rule(ctx, r)
}

// scope translates one plan.
type scope struct {
	*Translator
	// reach is the highest kind of field to which rules apply. The selector of a tag sees only the items themselves (schema.OfItem). The
	// selector of a unit also sees the tags of rules (schema.OfTags).
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
	case plan.Leaf:
		return t.leaf(ctx, n)
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

// tagged translates a leaf on a field of tags. The query matches items by their own tags and by the rules whose tags match the leaf.
func (t scope) tagged(ctx context.Context, n plan.Leaf) (object, error) {
	own, err := t.own(n)
	if err != nil {
		return nil, err
	}
	hits, err := Evaluate(ctx, t.tags(), n)
	if err != nil {
		return nil, err
	}
	matching := make([]int64, len(hits))
	for i, h := range hits {
		matching[i] = h.Doc.ID()
	}
	slices.Sort(matching)
	queries := []object{own}
	for _, i := range matching {
		rule, err := t.Translator.Rule(ctx, t.Catalogue.TagRules[i], schema.OfItem)
		if err != nil {
			return nil, err
		}
		queries = append(queries, rule)
	}
	if len(queries) == 1 {
		return own, nil
	}
	return constant(AnyOf(queries), 1), nil
}

// rule returns a query, without a score, for the items that carry the tag or the unit of a rule.
func (t scope) rule(ctx context.Context, r *definitions.Rule) (object, error) {
	var queries []object
	for chunk := range slices.Chunk(r.IDs, termsAtOnce) {
		queries = append(queries, object{"terms": object{"id": chunk}})
	}
	selector, err := t.Selector(ctx, r)
	if err != nil {
		return nil, err
	}
	if selector == nil {
		return AnyOf(queries), nil
	}
	selected, err := t.node(ctx, selector)
	switch {
	case err == nil:
		queries = append(queries, AllOf(selected))
	case IsAboutQuery(err): // the caller did not write the selector, and its other parts are still served
		t.Warn(r, err)
	default:
		return nil, fmt.Errorf("selector of %s: %w", r.Owner, err)
	}
	return AnyOf(queries), nil
}
