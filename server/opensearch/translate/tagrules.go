package translate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// termsAtOnce is the maximum number of values in a terms query. The default limit of OpenSearch is 65,536.
const termsAtOnce = 60_000

// tagged translates a leaf on a field of tags. The query matches items by their own tags and by the rules whose tags match the leaf.
func (t scope) tagged(ctx context.Context, n plan.Leaf) (object, error) {
	own, err := t.own(n)
	if err != nil {
		return nil, err
	}
	queries := []object{own}
	for _, r := range t.Catalogue.TagRules {
		if query.TagFieldName(r.Tag.Namespace) != n.LooksAt().Name {
			continue
		}
		matches, err := matchesOne(ctx, n, &item.Item{}, []item.Tag{r.Tag})
		if err != nil {
			return nil, err
		}
		if !matches {
			continue
		}
		rule, err := t.Translator.Rule(ctx, r, schema.OfItem)
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

// matchesOne reports whether an item that has the given tags matches a leaf.
func matchesOne(ctx context.Context, n plan.Node, it *item.Item, tags []item.Tag) (bool, error) {
	corpus := eval.NewCorpus()
	corpus.Put(eval.NewDoc(1, 0, it.Values(nil, nil, tags)))
	hits, err := Evaluate(ctx, corpus, n)
	return len(hits) > 0, err
}

// Evaluate evaluates a plan on a corpus in memory, without scores.
func Evaluate(ctx context.Context, corpus *eval.Corpus, n plan.Node) ([]eval.Hit, error) {
	m, err := corpus.Compile(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("evaluate in memory: %w", err)
	}
	hits, err := m.Search(ctx)
	if err != nil {
		return nil, fmt.Errorf("evaluate in memory: %w", err)
	}
	return hits, nil
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

// IsAboutQuery reports whether err is about the query and not about the cluster.
func IsAboutQuery(err error) bool {
	var syntax *query.SyntaxError
	var forbidden *query.ForbiddenFieldError
	return errors.As(err, &syntax) || errors.As(err, &forbidden)
}
