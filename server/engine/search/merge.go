package search

import (
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// Lucene rewrites a group before it scores it, and that shows in scores: eval/merge.go tells how and why. What is taken
// apart, in which order, and what is added up first, has to be the same here.

// occur says which list of a group is merged.
type occur bool

const (
	optional occur = false
	required occur = true
)

// merger takes one list of clauses apart.
type merger struct {
	*binder
	occur   occur
	boost   float32
	clauses []clause
	terms   []rankedTerm
	seen    map[fieldTerm]int // into terms
}

// rankedTerm is a term of a group and what it is scored with.
type rankedTerm struct {
	field query.Field
	term  string
	boost float64
	idf   float32
	norms *rank.Norms
}

// expand returns the terms that a fuzzy word stands for, with the similarity of each as its boost.
func (b *binder) expand(n plan.Fuzzy) ([]rankedTerm, error) {
	expansions, err := b.expansions(n)
	if err != nil || len(expansions) == 0 {
		return nil, err
	}
	stats, err := b.stats(n.Field.Name)
	if err != nil {
		return nil, err
	}
	idf := rank.IDF(rank.BlendedDocFreq(expansions), stats.total.Docs)
	terms := make([]rankedTerm, len(expansions))
	for i, e := range expansions {
		terms[i] = rankedTerm{field: n.Field, term: e.Term, boost: float64(e.Similarity), idf: idf, norms: stats.norms}
	}
	return terms, nil
}

// merged binds the scored clauses of one list of a group.
func (b *binder) merged(nodes []plan.Node, boost float32, o occur) ([]clause, error) {
	m := merger{binder: b, occur: o, boost: boost, seen: map[fieldTerm]int{}}
	for _, n := range nodes {
		if err := m.take(n, 1); err != nil {
			return nil, err
		}
	}
	if err := m.addTerms(); err != nil {
		return nil, err
	}
	return cheapClausesFirst(m.clauses), nil
}

// take takes a node apart as far as that can be done; factor is the product of the boosts around it within the group.
func (m *merger) take(n plan.Node, factor float64) error {
	switch n := n.(type) {
	case plan.Boost:
		return m.take(n.Node, factor*float64(n.Factor))
	case plan.Bool:
		if inner, ok := m.inner(n, factor); ok {
			for _, n := range inner {
				if err := m.take(n, factor); err != nil {
					return err
				}
			}
			return nil
		}
	case plan.Term:
		if n.Field.Type == query.Text {
			return m.term(n, factor)
		}
	case plan.Fuzzy:
		terms, err := m.expand(n)
		if err != nil {
			return err
		}
		if len(terms) == 1 || m.occur == optional && factor == 1 {
			for _, t := range terms {
				t.boost *= factor
				if err := m.add(t); err != nil {
					return err
				}
			}
			if len(terms) > 0 {
				return nil
			}
		}
	}
	bound, err := m.ranked(n, float32(factor)*m.boost)
	if err == nil {
		m.clauses = append(m.clauses, bound)
	}
	return err
}

// inner returns the clauses of a group that can stand in the outer group instead of it.
func (m *merger) inner(n plan.Bool, factor float64) ([]plan.Node, bool) {
	switch {
	case len(n.MustNot) > 0 || len(n.Must)+len(n.Should) == 0:
		return nil, false
	case len(n.Must) == 1 && len(n.Should) == 0:
		return n.Must, true
	case len(n.Must) == 0 && len(n.Should) == 1:
		return n.Should, true
	case factor != 1:
		return nil, false
	case m.occur == required:
		return n.Must, len(n.Should) == 0
	default:
		return n.Should, len(n.Must) == 0
	}
}

func (m *merger) term(n plan.Term, factor float64) error {
	stats, err := m.stats(n.Field.Name)
	if err != nil {
		return err
	}
	docFreq, err := stats.docFreq(m.ctx, n.Text)
	if err != nil {
		return err
	}
	return m.add(rankedTerm{field: n.Field, term: n.Text, boost: factor, idf: rank.IDF(docFreq, stats.total.Docs), norms: stats.norms})
}

// add adds a term, or its boost to that of the same term. One without boost only matches: it stays out of the sum.
func (m *merger) add(t rankedTerm) error {
	if t.boost == 0 {
		inner, err := m.leaf(t.field, &words{terms: []string{t.term}})
		m.clauses = append(m.clauses, &constantClause{node: inner})
		return err
	}
	key := fieldTerm{t.field.Name, t.term}
	if i, ok := m.seen[key]; ok {
		m.terms[i].boost += t.boost
		return nil
	}
	m.seen[key] = len(m.terms)
	m.terms = append(m.terms, t)
	return nil
}

// manyTerms is the number of optional terms of one field from which on package eval adds them up by themselves first.
const manyTerms = 4

// addTerms makes clauses of the terms.
func (m *merger) addTerms() error {
	perField := map[string]int{}
	for _, t := range m.terms {
		perField[t.field.Name]++
	}
	together := map[string]*termSetClause{}
	for _, t := range m.terms {
		one, err := m.scoredTerm(t.field, t.term, rank.NewScorer(t.norms, float32(t.boost)*m.boost, t.idf))
		if err != nil {
			return err
		}
		if m.occur == required || perField[t.field.Name] < manyTerms {
			m.clauses = append(m.clauses, one)
			continue
		}
		set := together[t.field.Name]
		if set == nil {
			set = &termSetClause{}
			together[t.field.Name] = set
			m.clauses = append(m.clauses, set)
		}
		set.add(one)
	}
	for _, set := range together {
		set.sort()
	}
	return nil
}
