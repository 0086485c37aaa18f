package eval

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// merged binds the scored clauses of one list of a group, after it was merged.
func (c *compiler) merged(ctx context.Context, nodes []plan.Node, boost float32, o rank.Occur) ([]clause, error) {
	list, err := rank.Merge(ctx, nodes, o, c)
	if err != nil {
		return nil, err
	}
	clauses := make([]clause, len(list))
	for i, m := range list {
		switch len(m.Terms) {
		case 0:
			if clauses[i], err = c.compile(ctx, m.Node, m.Factor*boost); err != nil {
				return nil, err
			}
		case 1:
			t := m.Terms[0]
			clauses[i] = &scoredTerm{termClause: newTermClause(nameOf(t.Field.Name), t.Text), scorer: t.Scorer(boost)}
		default:
			clauses[i] = newTermSet(m.Terms, boost, true)
		}
	}
	return cheapFirst(clauses), nil
}

// Weigh returns what a word is scored with (rank.Weights).
func (c *compiler) Weigh(ctx context.Context, n plan.Term) (rank.WeightedTerm, error) {
	stats, err := c.known.field(ctx, n.Field.Name, []string{n.Text})
	if err != nil {
		return rank.WeightedTerm{}, err
	}
	return rank.WeightedTerm{
		Field: n.Field, Text: n.Text, Boost: 1, IDF: rank.IDF(stats.docFreq[n.Text], stats.total.Docs), Norms: stats.norms,
	}, nil
}

// Expand returns the terms that a fuzzy word stands for, with the similarity of each as its boost (rank.Weights).
func (c *compiler) Expand(ctx context.Context, n plan.Fuzzy) ([]rank.WeightedTerm, error) {
	expansions, err := c.known.expansions(ctx, n)
	if err != nil {
		return nil, err
	}
	stats, err := c.known.field(ctx, n.Field.Name, nil)
	if err != nil {
		return nil, err
	}
	return rank.WeighExpansions(n.Field, expansions, stats.total, stats.norms), nil
}
