package eval

import (
	"context"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// clause is a plan node bound to a corpus. Its score has all boosts around it multiplied in.
type clause interface {
	match(d *Doc) (float32, bool)
	// cost estimates the work of match in units of one look at a field, so that cheap clauses decide first.
	cost() int
}

type compiler struct {
	known    *known
	unscored bool
}

// gather makes the statistics of every ranked leaf known: those of a field with all its terms at once, because each
// question may cost a walk, and those of fuzzy words first, because they may cost one that answers all others.
func (c *compiler) gather(ctx context.Context, root plan.Node) error {
	terms := map[string][]string{}
	var err error
	visit(root, func(n plan.Node) {
		switch n := n.(type) {
		case plan.Term:
			if n.Field.Type != query.Keyword {
				terms[n.Field.Name] = append(terms[n.Field.Name], n.Text)
			}
		case plan.Phrase:
			for _, w := range n.Words {
				terms[n.Field.Name] = append(terms[n.Field.Name], w.Text)
			}
		case plan.Fuzzy:
			if err == nil {
				_, err = c.known.expansions(ctx, n)
			}
		}
	})
	for name, list := range terms {
		if err == nil {
			_, err = c.known.field(ctx, name, list)
		}
	}
	return err
}

// visit calls f with the node and all nodes below that may contribute to the score.
func visit(n plan.Node, f func(plan.Node)) {
	f(n)
	switch n := n.(type) {
	case plan.Bool:
		for _, m := range n.Must {
			visit(m, f)
		}
		for _, m := range n.Should {
			visit(m, f)
		}
	case plan.DisMax:
		for _, m := range n.Nodes {
			visit(m, f)
		}
	case plan.Boost:
		visit(n.Node, f)
	}
}

// compile binds a node. boost is the product of the boosts around it; scoring is off where only the match counts.
func (c *compiler) compile(ctx context.Context, n plan.Node, boost float32) (clause, error) {
	switch n := n.(type) {
	case plan.All:
		return constant{score: boost}, nil
	case plan.None:
		return none{}, nil
	case plan.Bool:
		return c.group(ctx, n, boost)
	case plan.DisMax:
		return c.best(ctx, n, boost)
	case plan.Boost:
		return c.compile(ctx, n.Node, n.Factor*boost)
	case plan.Const:
		inner, err := c.matching(ctx, n.Node)
		return constant{inner: inner, score: n.Score * boost}, err
	case plan.Term:
		return c.term(ctx, n, boost)
	case plan.Phrase:
		return c.phrase(ctx, n, boost)
	case plan.Fuzzy:
		return c.fuzzy(ctx, n, boost)
	case plan.Pattern:
		return constant{inner: &patternClause{field: nameOf(n.Field.Name), automaton: n.Automaton}, score: boost}, nil
	case plan.TermRange:
		return constant{inner: &termRange{field: nameOf(n.Field.Name), TermRange: n}, score: boost}, nil
	case plan.IntRange:
		return constant{inner: &intRange{field: nameOf(n.Field.Name), lo: n.Lo, hi: n.Hi}, score: boost}, nil
	case plan.FloatRange:
		return constant{inner: &floatRange{field: nameOf(n.Field.Name), lo: n.Lo, hi: n.Hi}, score: boost}, nil
	case plan.Exists:
		return constant{inner: &exists{field: nameOf(n.Field.Name)}, score: boost}, nil
	}
	return nil, fmt.Errorf("unknown plan node %T", n)
}

// matching binds a node of which only the match counts, not the score.
func (c *compiler) matching(ctx context.Context, n plan.Node) (clause, error) {
	unscored := compiler{known: c.known, unscored: true}
	return unscored.compile(ctx, n, 1)
}

// constant gives all matches of a clause one score; without a clause, everything matches.
type constant struct {
	inner clause
	score float32
}

func (c constant) match(d *Doc) (float32, bool) {
	if c.inner != nil {
		if _, ok := c.inner.match(d); !ok {
			return 0, false
		}
	}
	return c.score, true
}

func (c constant) cost() int {
	if c.inner == nil {
		return 0
	}
	return c.inner.cost()
}

// none matches nothing.
type none struct{}

func (none) match(*Doc) (float32, bool) { return 0, false }
func (none) cost() int                  { return 0 }
