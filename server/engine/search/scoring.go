package search

import (
	"context"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// runner computes the scores of a clause in one part, block by block in ascending order. The caller may skip blocks.
type runner interface {
	// add adds the score of each matching document to the document's sum and touches the document. For each document, a runner adds a single
	// float32. Documents that are not in b.live may get any score.
	add(b *block, to *sums)
	// most returns an upper bound of the runner's scores in the block. The bound may be infinite.
	most(b *block) float64
}

// scoring is the state while one part is scored.
type scoring struct {
	evaluation
	// wanted holds the documents to be scored; nil for all documents. If they were read from plain bits, matched finds them as a view when
	// want is first called. Otherwise, matched is nil.
	wanted  *roaring.Bitmap
	matched func(context.Context) (*View, error)
	spare   []*sums
}

// want returns the documents to be scored; nil for all documents. Clauses call it if they can find fewer documents in less time.
func (s *scoring) want(ctx context.Context) (*roaring.Bitmap, error) {
	if s.wanted == nil && s.matched != nil {
		v, err := s.matched(ctx)
		if err != nil {
			return nil, err
		}
		s.wanted = v.docs
	}
	return s.wanted, nil
}

// take returns an array of zeros. The caller returns the array with give, for reuse.
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

// close returns all arrays to the Cache, and releases the evaluation.
func (s *scoring) close() {
	s.release()
	for _, a := range s.spare {
		s.corpus.Cache.putSums(a)
	}
}

// find returns the documents of a node as plain bits.
func (s *scoring) find(ctx context.Context, n node) ([]uint64, error) {
	wanted, err := s.want(ctx)
	if err != nil {
		return nil, err
	}
	found, err := n.find(ctx, &s.evaluation, wanted)
	if err != nil || found.isEmpty() {
		return nil, err
	}
	return dense(found.bitmap, s.part.Segment.Len()), nil
}

// lengthNorms returns the length norms of the documents in a text field. Norms of lists of units are few and not cached.
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

// mostOf returns the sum of the runners' upper bounds for a block.
func mostOf(runners []runner, b *block) float64 {
	most := 0.0
	for _, r := range runners {
		most += r.most(b)
	}
	return most
}

// clause is a bound plan node that gives scores. The scores include the boosts of all enclosing nodes. Each clause corresponds to one
// clause of package eval. Clauses keep the order of the plan, because the order in which scores are added affects rounding. A clause is
// safe for concurrent use.
type clause interface {
	// open returns the runner for the part that s scores, or nil if the runner would give no scores. If required is true, the caller ignores
	// the scores of documents that the clause does not match.
	open(ctx context.Context, s *scoring, required bool) (runner, error)
}
