package rank

import (
	"cmp"
	"context"
	"slices"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// This file imitates how Lucene rewrites a group before it scores the group. If an optional clause is a group of optional clauses, or a
// required clause is a group of required clauses, Lucene merges the inner group into the outer one. Lucene also replaces a fuzzy word with
// its expansions. After that, a term that occurs several times in the group becomes one clause, with the sum of the boosts and the
// statistics of the first occurrence. This affects scores if a group contains a word and a fuzzy word that expands to it, as in `beach
// beach~`. In this example, the expansions have the document frequency of the most frequent expansion, but the word has its own. If the
// boosts of the occurrences differ, Lucene uses the statistics of an arbitrary occurrence. Merge always uses those of the first occurrence.

// Occur selects one of the two scored lists of a group.
type Occur bool

const (
	// Optional selects plan.Bool.Should.
	Optional Occur = false
	// Required selects plan.Bool.Must.
	Required Occur = true
)

// WeightedTerm is a term with everything that its score depends on except the item.
type WeightedTerm struct {
	Field query.Field
	Text  string
	// Boost is the product of the boosts of the nodes that contain the term, up to the group. If the term occurs several times, Boost is the
	// sum of the products.
	Boost float64
	IDF   float32
	Norms *Norms
}

// Scorer returns the scorer of the term. boost is the product of the boosts of the nodes that contain the group.
func (t WeightedTerm) Scorer(boost float32) Scorer {
	return NewScorer(t.Norms, float32(t.Boost)*boost, t.IDF)
}

// Weights provides the statistics of a corpus. Its methods can take long. If ctx ends, they return the cause of ctx.
type Weights interface {
	// Weigh returns the weights of a term of a text field, with boost 1.
	Weigh(ctx context.Context, t plan.Term) (WeightedTerm, error)
	// Expand returns the expansions of a fuzzy word, with the similarity as their boost.
	Expand(ctx context.Context, n plan.Fuzzy) ([]WeightedTerm, error)
}

// Merged is one clause of a merged list. It is either a node, or one or more terms.
type Merged struct {
	// Node is a clause that Merge could not split. It is set if Terms is empty. Factor is the product of the boosts of the nodes that contain
	// Node, up to the group.
	Node   plan.Node
	Factor float32
	// Terms is one term, or several terms of one field in byte order. A document matches if it contains at least one of them. Its score is the
	// sum of the scores of these terms, rounded before it is added to the scores of the other clauses.
	Terms []WeightedTerm
}

// manyTerms is the minimum number of optional terms of one field that Merge combines into one clause.
const manyTerms = 4

// Merge converts one of the two scored lists of a group into the clauses that Lucene scores. Its errors are those of w.
func Merge(ctx context.Context, nodes []plan.Node, o Occur, w Weights) ([]Merged, error) {
	m := merger{occur: o, weights: w, seen: map[termKey]int{}}
	for _, n := range nodes {
		if err := m.take(ctx, n, 1); err != nil {
			return nil, err
		}
	}
	m.addTerms()
	return m.clauses, nil
}

type merger struct {
	occur   Occur
	weights Weights
	clauses []Merged
	terms   []WeightedTerm
	seen    map[termKey]int // index into terms
}

type termKey struct{ field, text string }

// take splits a node as far as possible, and adds the parts to the merged clauses. factor is the product of the boosts of the nodes that
// contain the node, up to the group.
func (m *merger) take(ctx context.Context, n plan.Node, factor float64) error {
	switch n := n.(type) {
	case plan.Boost:
		return m.take(ctx, n.Node, factor*float64(n.Factor))
	case plan.Bool:
		if inner, ok := m.inner(n, factor); ok {
			for _, n := range inner {
				if err := m.take(ctx, n, factor); err != nil {
					return err
				}
			}
			return nil
		}
	case plan.Term:
		if n.Field.Type == query.Text {
			t, err := m.weights.Weigh(ctx, n)
			if err == nil {
				t.Boost = factor
				m.add(t)
			}
			return err
		}
	case plan.Fuzzy:
		terms, err := m.weights.Expand(ctx, n)
		if err != nil {
			return err
		}
		if len(terms) == 1 || len(terms) > 1 && m.occur == Optional && factor == 1 {
			for _, t := range terms {
				t.Boost *= factor
				m.add(t)
			}
			return nil
		}
	default: // a separate clause
	}
	m.clauses = append(m.clauses, Merged{Node: n, Factor: float32(factor)})
	return nil
}

// inner returns the clauses of an inner group if they can replace it in the outer group, and false if they cannot.
func (m *merger) inner(n plan.Bool, factor float64) ([]plan.Node, bool) {
	switch {
	case len(n.MustNot) > 0 || len(n.Must)+len(n.Should) == 0:
		return nil, false
	case len(n.Must)+len(n.Should) == 1:
		return slices.Concat(n.Must, n.Should), true
	case factor != 1:
		return nil, false
	case m.occur == Required:
		return n.Must, len(n.Should) == 0
	default:
		return n.Should, len(n.Must) == 0
	}
}

// add adds a term. If the term has occurred before, add only adds its boost to the boost of the first occurrence. A term with boost 0
// becomes a clause of its own, which affects only what matches.
func (m *merger) add(t WeightedTerm) {
	if t.Boost == 0 {
		m.clauses = append(m.clauses, Merged{Node: plan.Const{Node: plan.Term{Field: t.Field, Text: t.Text}}, Factor: 1})
		return
	}
	key := termKey{t.Field.Name, t.Text}
	if i, ok := m.seen[key]; ok {
		m.terms[i].Boost += t.Boost
		return
	}
	m.seen[key] = len(m.terms)
	m.terms = append(m.terms, t)
}

// addTerms converts the terms to clauses.
func (m *merger) addTerms() {
	perField := map[string]int{}
	for _, t := range m.terms {
		perField[t.Field.Name]++
	}
	together := map[string]int{} // index into clauses
	for _, t := range m.terms {
		name := t.Field.Name
		at, begun := together[name]
		if begun {
			m.clauses[at].Terms = append(m.clauses[at].Terms, t)
			continue
		}
		if m.occur == Optional && perField[name] >= manyTerms {
			together[name] = len(m.clauses)
		}
		m.clauses = append(m.clauses, Merged{Terms: []WeightedTerm{t}})
	}
	for _, at := range together {
		slices.SortFunc(m.clauses[at].Terms, func(a, b WeightedTerm) int { return cmp.Compare(a.Text, b.Text) })
	}
}
