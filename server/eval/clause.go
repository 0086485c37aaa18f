package eval

import (
	"context"
	"fmt"
	"slices"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// clause is a plan node that is bound to a corpus. It reports whether a document matches, and returns the score, multiplied by the boosts
// of all nodes that contain this node.
type clause func(d *Doc) (score float32, ok bool)

// compiler binds the nodes of one plan to a corpus.
type compiler struct{ weigher *rank.Weigher }

func newCompiler(s rank.Statistics) compiler { return compiler{rank.NewWeigher(s)} }

// compile binds a node. boost is the product of the boosts of all nodes that contain the node.
func (c compiler) compile(ctx context.Context, n plan.Node, boost float32) (clause, error) {
	switch n := n.(type) {
	case plan.All:
		return func(*Doc) (float32, bool) { return boost, true }, nil
	case plan.None:
		return nothing, nil
	case plan.Bool:
		return c.group(ctx, n, boost)
	case plan.DisMax:
		return c.best(ctx, n, boost)
	case plan.Boost:
		return c.compile(ctx, n.Node, n.Factor*boost)
	case plan.Const:
		return c.constant(ctx, n, boost)
	case plan.Term:
		return c.term(ctx, n, boost)
	case plan.Phrase:
		return c.phrase(ctx, n, boost)
	case plan.Fuzzy:
		terms, err := c.weigher.Expand(ctx, n)
		return anyTerm(terms, boost), err
	case plan.Pattern:
		return inField(n.Field, boost, func(f *field) bool {
			for t := range f.terms {
				if automaton.Match(n.Automaton, t) {
					return true
				}
			}
			return false
		}), nil
	case plan.TermRange:
		return inField(n.Field, boost, func(f *field) bool {
			for t := range f.terms {
				if (n.LoOpen || t > n.Lo || n.LoIncl && t == n.Lo) && (n.HiOpen || t < n.Hi || n.HiIncl && t == n.Hi) {
					return true
				}
			}
			return false
		}), nil
	case plan.IntRange:
		return inField(n.Field, boost, func(f *field) bool {
			return slices.ContainsFunc(f.numbers, func(v int64) bool { return n.Lo <= v && v <= n.Hi })
		}), nil
	case plan.FloatRange:
		return inField(n.Field, boost, func(f *field) bool {
			return slices.ContainsFunc(f.floats, func(v float64) bool { return n.Lo <= v && v <= n.Hi })
		}), nil
	case plan.Exists:
		return inField(n.Field, boost, func(*field) bool { return true }), nil
	}
	return nil, fmt.Errorf("unknown plan node %T", n)
}

// nothing matches no document.
func nothing(*Doc) (float32, bool) { return 0, false }

// inField matches the documents whose field passes a test. All matches get the same score.
func inField(in query.Field, score float32, test func(*field) bool) clause {
	return func(d *Doc) (float32, bool) {
		if f := d.fields[in.Name]; f != nil && test(f) {
			return score, true
		}
		return 0, false
	}
}

// constant binds a node that gives all its matches the same score.
func (c compiler) constant(ctx context.Context, n plan.Const, boost float32) (clause, error) {
	inner, err := c.compile(ctx, n.Node, 1)
	return func(d *Doc) (float32, bool) {
		if _, ok := inner(d); !ok {
			return 0, false
		}
		return n.Score * boost, true
	}, err
}

// term binds a term. The score is BM25 on text and boolean fields, and 1 on keywords, each multiplied by boost.
func (c compiler) term(ctx context.Context, n plan.Term, boost float32) (clause, error) {
	if n.Field.Type != query.Text && n.Field.Type != query.Boolean {
		return inField(n.Field, boost, func(f *field) bool { return f.holds(n.Text) }), nil
	}
	t, err := c.weigher.Weigh(ctx, n)
	if err != nil {
		return nil, err
	}
	return anyTerm([]rank.WeightedTerm{t}, boost), nil
}

// anyTerm matches documents that contain at least one of the terms. All terms are of the same field. The score is the sum of the scores of
// the terms that the document contains, each multiplied by boost.
func anyTerm(terms []rank.WeightedTerm, boost float32) clause {
	if len(terms) == 0 {
		return nothing
	}
	scorers := make([]rank.Scorer, len(terms))
	for i, t := range terms {
		scorers[i] = t.Scorer(boost)
	}
	return func(d *Doc) (float32, bool) {
		f := d.fields[terms[0].Field.Name]
		if f == nil {
			return 0, false
		}
		var sum rank.Sum
		matched := false
		for i, t := range terms {
			if f.holds(t.Text) {
				matched = true
				sum.Should(f.score(scorers[i], t.Text))
			}
		}
		return sum.Score(), matched
	}
}

// phrase binds a phrase. A phrase of one word becomes a term.
func (c compiler) phrase(ctx context.Context, n plan.Phrase, boost float32) (clause, error) {
	switch len(n.Words) {
	case 0:
		return nothing, nil
	case 1:
		return c.term(ctx, plan.Term{Field: n.Field, Text: n.Words[0].Text}, boost)
	}
	words, offsets := make([]string, len(n.Words)), make([]int, len(n.Words))
	for i, w := range n.Words {
		words[i], offsets[i] = w.Text, w.Position
	}
	phrase := rank.NewPhrase(words, offsets, n.Slop)
	scorer, err := c.weigher.Scorer(ctx, n.Field.Name, boost, words)
	return func(d *Doc) (float32, bool) {
		f := d.fields[n.Field.Name]
		if f == nil {
			return 0, false
		}
		positions := make([][]uint32, len(words))
		for i, w := range words {
			positions[i] = f.terms[w]
		}
		freq := phrase.Freq(positions)
		if freq == 0 {
			return 0, false
		}
		return scorer.Score(freq, f.norm()), true
	}, err
}

// group binds a plan.Bool.
func (c compiler) group(ctx context.Context, n plan.Bool, boost float32) (clause, error) {
	must, err := c.merged(ctx, n.Must, boost, rank.Required)
	if err != nil {
		return nil, err
	}
	should, err := c.merged(ctx, n.Should, boost, rank.Optional)
	if err != nil {
		return nil, err
	}
	not, err := c.list(ctx, n.MustNot, 1)
	return func(d *Doc) (float32, bool) {
		var sum rank.Sum
		for _, match := range must {
			score, ok := match(d)
			if !ok {
				return 0, false
			}
			sum.Must(score)
		}
		for _, match := range not {
			if _, ok := match(d); ok {
				return 0, false
			}
		}
		matched := len(must) > 0
		for _, match := range should {
			if score, ok := match(d); ok {
				matched = true
				sum.Should(score)
			}
		}
		return sum.Score(), matched
	}, err
}

// merged binds one of the lists of clauses of a group, after merging equal clauses as Lucene does (see rank.Merge).
func (c compiler) merged(ctx context.Context, nodes []plan.Node, boost float32, o rank.Occur) ([]clause, error) {
	list, err := rank.Merge(ctx, nodes, o, c.weigher)
	if err != nil {
		return nil, err
	}
	clauses := make([]clause, len(list))
	for i, m := range list {
		if len(m.Terms) > 0 {
			clauses[i] = anyTerm(m.Terms, boost)
		} else if clauses[i], err = c.compile(ctx, m.Node, m.Factor*boost); err != nil {
			return nil, err
		}
	}
	return clauses, nil
}

// list binds nodes one by one.
func (c compiler) list(ctx context.Context, nodes []plan.Node, boost float32) ([]clause, error) {
	clauses := make([]clause, len(nodes))
	for i, n := range nodes {
		var err error
		if clauses[i], err = c.compile(ctx, n, boost); err != nil {
			return nil, err
		}
	}
	return clauses, nil
}

// best binds a plan.DisMax. The score is the highest score of its clauses.
func (c compiler) best(ctx context.Context, n plan.DisMax, boost float32) (clause, error) {
	clauses, err := c.list(ctx, n.Nodes, boost)
	return func(d *Doc) (float32, bool) {
		var high float32
		matched := false
		for _, match := range clauses {
			if score, ok := match(d); ok {
				matched = true
				high = max(high, score)
			}
		}
		return high, matched
	}, err
}
