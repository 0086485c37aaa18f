package search

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// merged binds the scored clauses of one list of a group, after it was merged.
func (b *binder) merged(ctx context.Context, nodes []plan.Node, boost float32, o rank.Occur) ([]clause, error) {
	list, err := rank.Merge(ctx, nodes, o, b)
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
	return cheapClausesFirst(clauses), nil
}

// Weigh returns what a word is scored with (rank.Weights).
func (b *binder) Weigh(ctx context.Context, n plan.Term) (rank.WeightedTerm, error) {
	stats, err := b.stats(ctx, n.Field.Name)
	if err != nil {
		return rank.WeightedTerm{}, err
	}
	docFreq, err := stats.docFreq(ctx, n.Text)
	if err != nil {
		return rank.WeightedTerm{}, err
	}
	return rank.WeightedTerm{Field: n.Field, Text: n.Text, Boost: 1, IDF: rank.IDF(docFreq, stats.total.Docs), Norms: stats.norms}, nil
}

// Expand returns the terms that a fuzzy word stands for, with the similarity of each as its boost (rank.Weights).
func (b *binder) Expand(ctx context.Context, n plan.Fuzzy) ([]rank.WeightedTerm, error) {
	expansions, err := b.expansions(ctx, n)
	if err != nil || len(expansions) == 0 {
		return nil, err
	}
	stats, err := b.stats(ctx, n.Field.Name)
	if err != nil {
		return nil, err
	}
	return rank.WeighExpansions(n.Field, expansions, stats.total, stats.norms), nil
}
