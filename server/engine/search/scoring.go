package search

import (
	"context"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// runner gives the scores of a clause in one part, block by block in rising order, blocks left out at will.
type runner interface {
	// add adds the score of each document that matches to its sum, exactly one float32 for each runner and document, and
	// touches it. Documents that are not live may be given anything.
	add(b *block, to *sums)
	// most returns a score that no document of the block gets more than; it may be infinite.
	most(b *block) float64
}

// scoring is one look at one part for scores.
type scoring struct {
	evaluation
	// wanted are the documents to be scored; nil for all.
	wanted *roaring.Bitmap
	spare  []*sums
}

// take returns an array of zeros, and give takes it back.
func (s *scoring) take() *sums {
	n := len(s.spare)
	if n == 0 {
		return s.corpus.Cache.newSums()
	}
	a := s.spare[n-1]
	s.spare = s.spare[:n-1]
	clear(a[:])
	return a
}

func (s *scoring) give(a *sums) { s.spare = append(s.spare, a) }

// close hands all arrays back.
func (s *scoring) close() {
	for _, a := range s.spare {
		s.corpus.Cache.putSums(a)
	}
}

// find returns the documents of a node as one bit each.
func (s *scoring) find(ctx context.Context, n node) ([]uint64, error) {
	found, err := n.find(ctx, &s.evaluation, s.wanted)
	if err != nil || found.isEmpty() {
		return nil, err
	}
	return dense(found.bitmap, s.part.Segment.Len()), nil
}

// lengthNorms returns the length norm of a text field by document. Those of lists of units are few, and go with them.
func (s *scoring) lengthNorms(f *segment.Field) norms {
	if s.shown {
		return readNorms(s.part.Segment, f)
	}
	return s.corpus.of(s.part).lengthNorms(s.part.Segment, f)
}

func openAll(ctx context.Context, s *scoring, clauses []clause, required bool) ([]runner, error) {
	var runners []runner
	for _, c := range clauses {
		r, err := c.open(ctx, s, required)
		if err != nil {
			return nil, err
		}
		if r != nil {
			runners = append(runners, r)
		}
	}
	return runners, nil
}

// mostOf is the most that a document can get from several runners.
func mostOf(runners []runner, b *block) float64 {
	most := 0.0
	for _, r := range runners {
		most += r.most(b)
	}
	return most
}
