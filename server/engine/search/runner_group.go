package search

import (
	"context"
	"math/bits"

	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// groupClause is a plan.Bool whose clauses were merged by rank.Merge.
type groupClause struct {
	must, should []clause
	// match finds the documents that the whole group matches.
	match node
	// not holds the prohibited clauses.
	not []node
}

func (b *binder) rankedGroup(ctx context.Context, n plan.Bool, boost float32) (clause, error) {
	g := &groupClause{}
	var err error
	if g.must, err = b.merged(ctx, n.Must, boost, rank.Required); err != nil {
		return nil, err
	}
	if g.should, err = b.merged(ctx, n.Should, boost, rank.Optional); err != nil {
		return nil, err
	}
	if g.not, err = b.list(ctx, n.MustNot); err != nil {
		return nil, err
	}
	g.match, err = b.match(ctx, n)
	return g, err
}

func (g *groupClause) open(ctx context.Context, s *scoring, need bool) (runner, error) {
	r := &groupRunner{scoring: s}
	if !need && (len(g.must) > 0 || len(g.not) > 0) {
		var err error
		if r.words, err = s.find(ctx, g.match); r.words == nil {
			return nil, err
		}
	}
	var err error
	if r.must, err = openAll(ctx, s, g.must, true); err != nil {
		return nil, err
	}
	r.should, err = openAll(ctx, s, g.should, false)
	return r, err
}

// groupRunner adds the scores of a group as rank.Sum does. It computes the sum of the required scores and the sum of the optional scores
// separately in double precision. Then it adds the two sums in single precision.
type groupRunner struct {
	scoring      *scoring
	must, should []runner
	// words has a bit for each document that the group matches. It is nil if the group matches all documents that have a score, or if the
	// caller ignores the other documents.
	words []uint64
}

func (r *groupRunner) most(b *block) float64 {
	return float64(float32(mostOf(r.must, b)) + float32(mostOf(r.should, b)))
}

func (r *groupRunner) add(b *block, to *sums) {
	must, should := r.scoring.take(), r.scoring.take()
	for _, one := range r.must {
		one.add(b, must)
	}
	for _, one := range r.should {
		one.add(b, should)
	}
	if r.words == nil {
		for i := range must {
			to[i] += float64(float32(must[i]) + float32(should[i]))
		}
	} else {
		first := int(b.from) / 64
		for some := b.liveWords; some != 0; some &= some - 1 {
			i := bits.TrailingZeros64(some)
			for word := b.live[i] & r.words[first+i]; word != 0; word &= word - 1 {
				at := (i*64 + bits.TrailingZeros64(word)) & (blockDocs - 1)
				to[at] += float64(float32(must[at]) + float32(should[at]))
			}
		}
	}
	r.scoring.give(should)
	r.scoring.give(must)
}

// termSetClause matches documents that contain at least one of several terms of a field. It adds the scores of a document's terms in byte
// order.
type termSetClause struct{ terms []*termClause }

func (b *binder) termSet(ctx context.Context, terms []rank.WeightedTerm, boost float32) (*termSetClause, error) {
	set := &termSetClause{terms: make([]*termClause, len(terms))}
	for i, t := range terms {
		var err error
		if set.terms[i], err = b.scoredTerm(ctx, t.Field, t.Text, t.Scorer(boost)); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// rankedTerms binds the terms of a merged clause.
func (b *binder) rankedTerms(ctx context.Context, terms []rank.WeightedTerm, boost float32) (clause, error) {
	if len(terms) == 1 {
		return b.scoredTerm(ctx, terms[0].Field, terms[0].Text, terms[0].Scorer(boost))
	}
	return b.termSet(ctx, terms, boost)
}

func (s *termSetClause) open(ctx context.Context, sc *scoring, _ bool) (runner, error) {
	r := &sumRunner{scoring: sc}
	for _, t := range s.terms {
		one, err := t.open(ctx, sc, false)
		if err != nil {
			return nil, err
		}
		if one != nil {
			r.runners = append(r.runners, one)
		}
	}
	switch len(r.runners) {
	case 0:
		return nil, nil
	case 1:
		return r.runners[0], nil
	}
	return r, nil
}

// sumRunner adds the scores of several runners in double precision and rounds the sum once to single precision.
type sumRunner struct {
	scoring *scoring
	runners []runner
}

func (r *sumRunner) most(b *block) float64 { return float64(float32(mostOf(r.runners, b))) }

func (r *sumRunner) add(b *block, to *sums) {
	own := r.scoring.take()
	for _, one := range r.runners {
		one.add(b, own)
	}
	for i, sum := range own {
		to[i] += float64(float32(sum))
	}
	r.scoring.give(own)
}

// bestClause is a plan.DisMax. Its score is the highest score of its clauses.
type bestClause struct{ clauses []clause }

func (c *bestClause) open(ctx context.Context, s *scoring, _ bool) (runner, error) {
	runners, err := openAll(ctx, s, c.clauses, false)
	if err != nil || len(runners) == 0 {
		return nil, err
	}
	return &bestRunner{scoring: s, runners: runners}, nil
}

// bestRunner gives each document the highest score of several runners.
type bestRunner struct {
	scoring *scoring
	runners []runner
}

func (r *bestRunner) most(b *block) float64 {
	most := 0.0
	for _, r := range r.runners {
		most = max(most, r.most(b))
	}
	return most
}

func (r *bestRunner) add(b *block, to *sums) {
	high, one := r.scoring.take(), r.scoring.take()
	for i, runner := range r.runners {
		if i > 0 {
			clear(one[:])
		}
		runner.add(b, one)
		for i, score := range one {
			high[i] = max(high[i], score)
		}
	}
	for i, score := range high {
		to[i] += score
	}
	r.scoring.give(one)
	r.scoring.give(high)
}
