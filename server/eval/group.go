package eval

import (
	"cmp"
	"context"
	"slices"

	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// group is a plan.Bool. Within each list the cheap clauses come first.
type group struct {
	must, should, mustNot []clause
	scored                bool
}

func (c *compiler) group(ctx context.Context, n plan.Bool, boost float32) (clause, error) {
	g := &group{scored: !c.unscored}
	var err error
	if c.unscored {
		g.must, err = c.list(ctx, n.Must, 1)
		if err == nil && len(n.Must) == 0 { // beside a required clause, optional ones only rank
			g.should, err = c.list(ctx, n.Should, 1)
		}
	} else {
		g.must, err = c.merged(ctx, n.Must, boost, rank.Required)
		if err == nil {
			g.should, err = c.merged(ctx, n.Should, boost, rank.Optional)
		}
	}
	if err == nil {
		unscored := compiler{known: c.known, unscored: true}
		g.mustNot, err = unscored.list(ctx, n.MustNot, 1)
	}
	return g, err
}

// list binds nodes and puts the cheap ones first.
func (c *compiler) list(ctx context.Context, nodes []plan.Node, boost float32) ([]clause, error) {
	clauses := make([]clause, len(nodes))
	for i, n := range nodes {
		var err error
		if clauses[i], err = c.compile(ctx, n, boost); err != nil {
			return nil, err
		}
	}
	return cheapFirst(clauses), nil
}

// cheapFirst sorts clauses by cost. Which comes first changes no score (rank.Sum).
func cheapFirst(clauses []clause) []clause {
	slices.SortStableFunc(clauses, func(a, b clause) int { return cmp.Compare(a.cost(), b.cost()) })
	return clauses
}

func (g *group) match(d *Doc) (float32, bool) {
	var sum rank.Sum
	for _, c := range g.must {
		score, ok := c.match(d)
		if !ok {
			return 0, false
		}
		sum.Must(score)
	}
	for _, c := range g.mustNot {
		if _, ok := c.match(d); ok {
			return 0, false
		}
	}
	matched := len(g.must) > 0
	for _, c := range g.should {
		score, ok := c.match(d)
		if !ok {
			continue
		}
		matched = true
		if !g.scored {
			break
		}
		sum.Should(score)
	}
	return sum.Score(), matched
}

func (g *group) cost() int { return costs(g.must) + costs(g.should) + costs(g.mustNot) }

func costs(clauses []clause) int {
	sum := 0
	for _, c := range clauses {
		sum += c.cost()
	}
	return sum
}

// best is a plan.DisMax: the highest score of its clauses.
type best struct{ clauses []clause }

func (c *compiler) best(ctx context.Context, n plan.DisMax, boost float32) (clause, error) {
	clauses, err := c.list(ctx, n.Nodes, boost)
	return &best{clauses: clauses}, err
}

func (b *best) match(d *Doc) (float32, bool) {
	var high float32
	matched := false
	for _, c := range b.clauses {
		if score, ok := c.match(d); ok {
			matched = true
			high = max(high, score)
		}
	}
	return high, matched
}

func (b *best) cost() int { return costs(b.clauses) }
