package search

import (
	"context"
	"slices"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// phraseClause is a phrase of at least two words.
type phraseClause struct {
	field  query.Field
	kind   kind
	phrase *phrase
	scorer rank.Scorer
	units  *unitOverlay
}

func (b *binder) rankedPhrase(ctx context.Context, n plan.Phrase, boost float32) (clause, error) {
	switch {
	case len(n.Words) == 1:
		return b.rankedTerm(ctx, plan.Term{Field: n.Field, Text: n.Words[0].Text}, boost)
	case len(n.Words) == 0 || n.Field.Type != query.Text:
		return nothing{}, nil
	}
	p := &phraseClause{field: n.Field, kind: b.kindOf(n.Field.Name), phrase: newPhrase(n)}
	var err error
	if p.scorer, err = b.weights().Scorer(ctx, n.Field.Name, boost, p.phrase.words); err != nil {
		return nil, err
	}
	if p.kind == ofUnits {
		p.units, err = b.corpus.unitOverlay(ctx)
	}
	return p, err
}

func (p *phraseClause) open(ctx context.Context, s *scoring, _ bool) (runner, error) {
	if p.kind == ofUnits && !s.shown {
		return s.openShown(ctx, p.units, p)
	}
	f := s.part.Segment.Field(p.field.Name)
	if f == nil {
		return nil, nil
	}
	wanted, err := s.want(ctx)
	if err != nil {
		return nil, err
	}
	hits, err := s.phrase(ctx, p.field, p.phrase, wanted)
	if err != nil || len(hits.docs) == 0 {
		return nil, err
	}
	norms := s.lengthNorms(f)
	r := &phraseRunner{docs: hits.docs, scores: make([]float32, len(hits.docs))}
	for i, doc := range hits.docs {
		r.scores[i] = p.scorer.Score(hits.freqs[i], norms.byDoc[doc])
	}
	r.low, r.high = slices.Min(r.scores), slices.Max(r.scores)
	return r, nil
}

// phraseRunner gives the scores of a phrase. phraseClause.open computes them.
type phraseRunner struct {
	docs   []uint32
	scores []float32
	// low and high are the lowest and the highest of all scores.
	low, high float32
}

func (r *phraseRunner) most(b *block) float64 {
	for len(r.docs) > 0 && r.docs[0] < b.from {
		r.docs, r.scores = r.docs[1:], r.scores[1:]
	}
	if len(r.docs) == 0 || r.docs[0] >= b.to {
		return 0
	}
	return float64(r.high)
}

func (r *phraseRunner) least() float64 { return float64(r.low) }

func (r *phraseRunner) add(b *block, to *sums) {
	i := 0
	for ; i < len(r.docs) && r.docs[i] < b.to; i++ {
		if r.docs[i] >= b.from {
			b.touch(r.docs[i])
			to[r.docs[i]&(blockDocs-1)] += float64(r.scores[i])
		}
	}
	r.docs, r.scores = r.docs[i:], r.scores[i:]
}
