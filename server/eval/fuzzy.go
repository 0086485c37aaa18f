package eval

import (
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// expand returns the terms that a fuzzy word stands for, with the similarity of each as its boost.
func (c *compiler) expand(n plan.Fuzzy) ([]rankedTerm, error) {
	expansions, err := c.known.expansions(c.ctx, n)
	if err != nil {
		return nil, err
	}
	stats, err := c.known.field(c.ctx, n.Field.Name, nil)
	if err != nil {
		return nil, err
	}
	idf := rank.IDF(rank.BlendedDocFreq(expansions), stats.total.Docs)
	terms := make([]rankedTerm, len(expansions))
	for i, e := range expansions {
		terms[i] = rankedTerm{
			termKey: termKey{nameOf(n.Field.Name), e.Term}, boost: float64(e.Similarity),
			idf: idf, norms: stats.norms,
		}
	}
	return terms, nil
}

// fuzzy binds a fuzzy word that stands by itself.
func (c *compiler) fuzzy(n plan.Fuzzy, boost float32) (clause, error) {
	terms, err := c.expand(n)
	if err != nil {
		return nil, err
	}
	if len(terms) == 0 {
		return none{}, nil
	}
	set := newTermSet(nameOf(n.Field.Name), !c.unscored)
	for _, t := range terms {
		set.add(t.term, rank.NewScorer(t.norms, float32(t.boost)*boost, t.idf))
	}
	return set, nil
}

// termSet matches documents that hold any of some terms of a field; the scores of those that it holds are added up.
type termSet struct {
	field   name
	scorers map[string]rank.Scorer
	prints  [256]bool // of the terms
	scored  bool
	hint    int
}

func newTermSet(field name, scored bool) *termSet {
	return &termSet{field: field, scorers: map[string]rank.Scorer{}, scored: scored}
}

func (s *termSet) add(t string, scorer rank.Scorer) {
	s.scorers[t] = scorer
	s.prints[fingerprint(t)] = true
}

func (s *termSet) match(d *Doc) (float32, bool) {
	f := d.field(s.field, &s.hint)
	if f == nil {
		return 0, false
	}
	var sum rank.Sum
	matched := false
	for i, to := f.terms(); i < to; i++ {
		if !s.prints[d.prints[i]] {
			continue
		}
		scorer, ok := s.scorers[d.term(i)]
		if !ok {
			continue
		}
		if matched = true; !s.scored {
			break
		}
		sum.Should(scorer.Score(d.freq(f, i), f.norm))
	}
	return sum.Score(), matched
}

func (s *termSet) cost() int { return 20 }
