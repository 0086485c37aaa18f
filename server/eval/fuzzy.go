package eval

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// fuzzy binds a fuzzy word that stands by itself.
func (c *compiler) fuzzy(ctx context.Context, n plan.Fuzzy, boost float32) (clause, error) {
	terms, err := c.Expand(ctx, n)
	if err != nil {
		return nil, err
	}
	if len(terms) == 0 {
		return none{}, nil
	}
	return newTermSet(terms, boost, !c.unscored), nil
}

// termSet matches documents that hold any of some terms of a field; the scores of those that it holds are added up.
type termSet struct {
	field   name
	scorers map[string]rank.Scorer
	prints  [256]bool // of the terms
	scored  bool
	hint    int
}

// newTermSet makes the clause of some terms of one field; boost is the product of the boosts around them.
func newTermSet(terms []rank.WeightedTerm, boost float32, scored bool) *termSet {
	s := &termSet{field: nameOf(terms[0].Field.Name), scorers: make(map[string]rank.Scorer, len(terms)), scored: scored}
	for _, t := range terms {
		s.scorers[t.Text] = t.Scorer(boost)
		s.prints[fingerprint(t.Text)] = true
	}
	return s
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
