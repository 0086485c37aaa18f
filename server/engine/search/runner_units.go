package search

import (
	"context"
	"slices"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// openShown evaluates a clause on the lists of units. The runner gives each document the score of the list of units that the document
// shows.
func (s *scoring) openShown(ctx context.Context, o *unitOverlay, c clause) (runner, error) {
	lists, err := o.lists(ctx, s.corpus, s.part)
	if err != nil {
		return nil, err
	}
	n := lists.segment.Len()
	within := &scoring{evaluation: evaluation{corpus: s.corpus, part: segment.Part{Segment: lists.segment}, shown: true}}
	defer within.close()
	inner, err := c.open(ctx, within, false)
	if inner == nil {
		return nil, err
	}
	r := &shownRunner{lists: lists, scores: make([]float64, 0, n)}
	all := newBlocks(everything(n).bitmap, nil, n, s.corpus.Cache)
	defer all.close(s.corpus.Cache)
	for all.next() {
		scores := within.take()
		inner.add(&all.block, scores)
		r.scores = append(r.scores, scores[:all.to-all.from]...)
		within.give(scores)
	}
	r.high = slices.Max(r.scores) // r.scores is not empty, because inner would be nil if there were no lists
	return r, nil
}

// shownRunner gives each document the score of its list of units.
type shownRunner struct {
	lists  *unitLists
	scores []float64 // the score of each list
	high   float64
}

func (r *shownRunner) most(*block) float64 { return r.high }

func (r *shownRunner) add(b *block, to *sums) {
	b.touchAll()
	of := r.lists.of
	if of.len() == 0 {
		for i := range to {
			to[i] += r.scores[0]
		}
		return
	}
	for i := range int(b.to - b.from) {
		to[i&(blockDocs-1)] += r.scores[of.at(int(b.from)+i)]
	}
}
