package eval

import (
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// Lucene rewrites a group before it scores it. Groups of optional clauses inside an optional clause, and of required
// ones inside a required one, are taken apart into the outer group, a fuzzy word into its expansions, and then a term
// that stands in the group several times becomes one clause: its boosts are added up, and the statistics of the one that
// came first are used. That shows in scores where a word and a fuzzy word meet, as in `beach beach~`: the expansions are
// scored with the document frequency of the commonest of them, the word with its own. Where boosts differ, Lucene takes
// either one, by chance; this package always the first.

// occurrence of the clauses of a list that is merged.
type occur bool

const (
	optional occur = false
	required occur = true
)

// merger takes one list of clauses apart.
type merger struct {
	*compiler
	occur   occur
	boost   float32
	clauses []clause
	terms   []rankedTerm
	seen    map[termKey]int // into terms
}

type termKey struct {
	field name
	term  string
}

// rankedTerm is a term of a group and what it is scored with.
type rankedTerm struct {
	termKey
	boost float64
	idf   float32
	norms *rank.Norms
}

// merged binds the scored clauses of one list of a group.
func (c *compiler) merged(nodes []plan.Node, boost float32, o occur) ([]clause, error) {
	m := merger{compiler: c, occur: o, boost: boost, seen: map[termKey]int{}}
	for _, n := range nodes {
		if err := m.take(n, 1); err != nil {
			return nil, err
		}
	}
	m.addTerms()
	return cheapFirst(m.clauses), nil
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
				m.add(t)
			}
			if len(terms) > 0 {
				return nil
			}
		}
	}
	bound, err := m.compile(n, float32(factor)*m.boost)
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
	case len(n.Must)+len(n.Should) == 1:
		return append(n.Must, n.Should...), true
	case factor != 1:
		return nil, false
	case m.occur == required:
		return n.Must, len(n.Should) == 0
	default:
		return n.Should, len(n.Must) == 0
	}
}

func (m *merger) term(n plan.Term, factor float64) error {
	stats, err := m.known.field(m.ctx, n.Field.Name, []string{n.Text})
	if err != nil {
		return err
	}
	m.add(rankedTerm{
		termKey: termKey{nameOf(n.Field.Name), n.Text}, boost: factor,
		idf: rank.IDF(stats.docFreq[n.Text], stats.total.Docs), norms: stats.norms,
	})
	return nil
}

// add adds a term, or its boost to that of the same term. One without boost only matches: it stays out of the sum.
func (m *merger) add(t rankedTerm) {
	if t.boost == 0 {
		m.clauses = append(m.clauses, constant{inner: newTermClause(t.field, t.term)})
		return
	}
	if i, ok := m.seen[t.termKey]; ok {
		m.terms[i].boost += t.boost
		return
	}
	m.seen[t.termKey] = len(m.terms)
	m.terms = append(m.terms, t)
}

// manyTerms is the number of optional terms of one field from which on the terms of a document are looked up among them,
// rather than they among the document's.
const manyTerms = 4

// addTerms makes clauses of the terms.
func (m *merger) addTerms() {
	perField := map[name]int{}
	for _, t := range m.terms {
		perField[t.field]++
	}
	together := map[name]*termSet{}
	for _, t := range m.terms {
		scorer := rank.NewScorer(t.norms, float32(t.boost)*m.boost, t.idf)
		if m.occur == required || perField[t.field] < manyTerms {
			m.clauses = append(m.clauses, &scoredTerm{termClause: newTermClause(t.field, t.term), scorer: scorer})
			continue
		}
		set := together[t.field]
		if set == nil {
			set = newTermSet(t.field, true)
			together[t.field] = set
			m.clauses = append(m.clauses, set)
		}
		set.add(t.term, scorer)
	}
}
