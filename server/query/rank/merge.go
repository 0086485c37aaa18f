package rank

import (
	"cmp"
	"context"
	"slices"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// Lucene rewrites a group before it scores the group. If an optional clause is a group of optional clauses, or a required clause is a group
// of required clauses, Lucene merges the inner group into the outer one. It replaces a fuzzy word with its expansions. Then, a term that
// occurs several times in the group becomes one clause, with the sum of the boosts and the statistics of the first occurrence. This affects
// scores if a group contains a word and a fuzzy word that expands to it, as in `beach beach~`. The expansions are scored with the document
// frequency of the most frequent one, but the word is scored with its own. If the boosts differ, Lucene uses the statistics of either
// occurrence at random. Merge always uses the statistics of the first.

// Occur selects one of the two scored lists of a group.
type Occur bool

const (
	// Optional selects plan.Bool.Should.
	Optional Occur = false
	// Required selects plan.Bool.Must.
	Required Occur = true
)

// WeightedTerm is a term with its weights.
type WeightedTerm struct {
	Field query.Field
	Text  string
	// Boost is the product of the boosts around the term within its group. If the term occurs several times, it is the sum of these
	// products.
	Boost float64
	IDF   float32
	Norms *Norms
}

// Scorer returns the scorer of the term. boost is the product of the boosts around the group.
func (t WeightedTerm) Scorer(boost float32) Scorer {
	return NewScorer(t.Norms, float32(t.Boost)*boost, t.IDF)
}

// Weights provides the statistics of a corpus. Its methods can take long. If ctx ends, they return its cause.
type Weights interface {
	// Weigh returns the weights of a term of a text field, with boost 1.
	Weigh(ctx context.Context, t plan.Term) (WeightedTerm, error)
	// Expand returns the expansions of a fuzzy word, with the similarity as their boost.
	Expand(ctx context.Context, n plan.Fuzzy) ([]WeightedTerm, error)
}

// Merged is one clause of a merged list: a node or terms.
type Merged struct {
	// Node is a clause that could not be merged. It is set if Terms is empty. Factor is the product of the boosts around Node within the
	// group.
	Node   plan.Node
	Factor float32
	// Terms is one term, or several terms of one field in byte order. A document matches if it contains at least one of them. The scores of
	// the terms in the document are summed and rounded before the sum is added to the scores of the other clauses.
	Terms []WeightedTerm
}

// manyTerms is the minimum number of optional terms of one field for which they are combined into one clause.
const manyTerms = 4

// Merge merges one list of clauses in a group into the clauses that Lucene scores. It returns the errors of w.
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

// take adds a node to the merged clauses, after splitting it as far as possible. factor is the product of the boosts around the node within
// the group.
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

// inner returns the clauses that can replace an inner group in the outer group. It returns false if none can.
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
// affects only the matches, not the sum.
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
