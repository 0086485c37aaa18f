package eval

import (
	"unique"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// fuzzyClause matches documents that hold any of the terms that a fuzzy word expands to; the scores of those that it
// holds are added up.
type fuzzyClause struct {
	field   term
	scorers map[term]rank.Scorer
	scored  bool
	hint    int
}

func (c *compiler) fuzzy(n plan.Fuzzy, boost float32) (clause, error) {
	stats, err := c.corpus.need(c.ctx, n.Field.Name, nil, true)
	if err != nil {
		return nil, err
	}
	choice := rank.NewExpansions(n.Text, n.Edits, n.MaxExpansions)
	looked := 0
	for t, docFreq := range stats.docFreq {
		if looked++; looked%checkEvery == 0 {
			if err := interrupted(c.ctx); err != nil {
				return nil, err
			}
		}
		choice.Offer(t.Value(), docFreq)
	}
	expansions := choice.Terms()
	idf := rank.IDF(rank.BlendedDocFreq(expansions), stats.total.Docs)
	f := &fuzzyClause{field: unique.Make(n.Field.Name), scorers: map[term]rank.Scorer{}, scored: !c.unscored}
	for _, e := range expansions {
		f.scorers[unique.Make(e.Term)] = rank.NewScorer(stats.norms, e.Similarity*boost, idf)
	}
	if len(expansions) == 0 {
		return none{}, nil
	}
	return f, nil
}

func (c *fuzzyClause) match(d *Doc) (float32, bool) {
	f := d.field(c.field, &c.hint)
	if f == nil {
		return 0, false
	}
	var sum rank.Sum
	matched := false
	for i := f.from; i < f.to; i++ {
		s, ok := c.scorers[d.terms[i]]
		if !ok {
			continue
		}
		if matched = true; !c.scored {
			break
		}
		freq := float32(1)
		if f.typ == query.Text {
			freq = float32(len(d.at(int(i))))
		}
		sum.Should(s.Score(freq, f.norm))
	}
	return sum.Score(), matched
}

func (c *fuzzyClause) cost() int { return 20 }
