package search

import (
	"context"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// ranked binds a node and its score. boost is the product of the boosts of all enclosing nodes.
func (b *binder) ranked(ctx context.Context, n plan.Node, boost float32) (clause, error) {
	switch n := n.(type) {
	case plan.All:
		return &constantClause{node: all{}, score: boost}, nil
	case plan.None:
		return nothing{}, nil
	case plan.Bool:
		return b.rankedGroup(ctx, n, boost)
	case plan.DisMax:
		clauses := make([]clause, len(n.Nodes))
		for i, n := range n.Nodes {
			var err error
			if clauses[i], err = b.ranked(ctx, n, boost); err != nil {
				return nil, err
			}
		}
		return &bestClause{clauses}, nil
	case plan.Boost:
		return b.ranked(ctx, n.Node, n.Factor*boost)
	case plan.Const:
		inner, err := b.match(ctx, n.Node)
		return &constantClause{node: inner, score: n.Score * boost}, err
	case plan.Term:
		return b.rankedTerm(ctx, n, boost)
	case plan.Phrase:
		return b.rankedPhrase(ctx, n, boost)
	case plan.Fuzzy:
		terms, err := b.weights().Expand(ctx, n)
		if err != nil || len(terms) == 0 {
			return nothing{}, err
		}
		return b.termSet(ctx, terms, boost)
	case plan.Leaf:
		inner, err := b.match(ctx, n)
		return &constantClause{node: inner, score: boost}, err
	}
	return nil, fmt.Errorf("unknown plan node %T", n)
}

// rankedTerm binds a term. The score is boost times BM25 for text and boolean fields, and boost for keywords.
func (b *binder) rankedTerm(ctx context.Context, n plan.Term, boost float32) (clause, error) {
	if n.Field.Type != query.Text && n.Field.Type != query.Boolean {
		inner, err := b.match(ctx, n)
		return &constantClause{node: inner, score: boost}, err
	}
	scorer, err := b.weights().Scorer(ctx, n.Field.Name, boost, []string{n.Text})
	if err != nil {
		return nil, err
	}
	if n.Field.Type == query.Boolean {
		inner, err := b.match(ctx, n)
		return &constantClause{node: inner, score: scorer.Score(1, rank.NoNorm)}, err
	}
	return b.scoredTerm(ctx, n.Field, n.Text, scorer)
}

// merged merges the required or the optional nodes of a group with rank.Merge, and binds the merged nodes.
func (b *binder) merged(ctx context.Context, nodes []plan.Node, boost float32, o rank.Occur) ([]clause, error) {
	list, err := rank.Merge(ctx, nodes, o, b.weights())
	if err != nil {
		return nil, err
	}
	clauses := make([]clause, len(list))
	for i, m := range list {
		if len(m.Terms) == 0 {
			clauses[i], err = b.ranked(ctx, m.Node, m.Factor*boost)
		} else {
			clauses[i], err = b.rankedTerms(ctx, m.Terms, boost)
		}
		if err != nil {
			return nil, err
		}
	}
	return clauses, nil
}
