package rank

import (
	"cmp"
	"context"
	"slices"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// Lucene rewrites a group before it scores it. It merges groups of optional clauses inside an optional clause, and groups
// of required clauses inside a required one, into the outer group, and replaces a fuzzy word by its expansions. Then a term
// that occurs several times in the group becomes one clause with the sum of the boosts and the statistics of the first
// occurrence. This affects scores if a word and a fuzzy word meet, as in `beach beach~`: the expansions are scored with the
// document frequency of the most frequent of them, the word with its own. If boosts differ, Lucene uses either statistics
// at random; Merge always uses the first.

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
	// Boost is the product of the boosts around the term within its group, or the sum of several such products.
	Boost float64
	IDF   float32
	Norms *Norms
}

// Scorer returns the scorer of the term; boost is the product of the boosts around the group.
func (t WeightedTerm) Scorer(boost float32) Scorer {
	return NewScorer(t.Norms, float32(t.Boost)*boost, t.IDF)
}

// Weights provides the statistics of a corpus. Its methods can take long; they return the cause of ctx when ctx ends.
type Weights interface {
	// Weigh returns the weights of a term of a text field, with boost 1.
	Weigh(ctx context.Context, t plan.Term) (WeightedTerm, error)
	// Expand returns the expansions of a fuzzy word, with the similarity as their boost.
	Expand(ctx context.Context, n plan.Fuzzy) ([]WeightedTerm, error)
}

// Merged is one clause of a merged list: a node or terms.
type Merged struct {
	// Node is an unmerged clause, set if there are no Terms. Factor is the product of the boosts around it within the
	// group.
	Node   plan.Node
	Factor float32
	// Terms is one term, or several terms of one field in byte order, of which a document needs one. The scores of its
	// matching terms are summed and rounded before they are added to those of the other clauses.
	Terms []WeightedTerm
}

// manyTerms is the minimum number of optional terms of one field that are combined into one clause.
const manyTerms = 4

// Merge merges one list of the clauses of a group into the clauses that Lucene scores. It returns the errors of w.
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

// take decomposes a node as far as possible. factor is the product of the boosts around it within the group.
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

// inner returns the clauses of a group that can replace it in the outer group.
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

// add adds a term, or adds its boost to that of an earlier occurrence of the term. A term with boost 0 only matches and does not contribute
// to the sum.
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
