package search

import (
	"context"
	"math/bits"
)

// constantClause gives the same score to all matches of a node.
type constantClause struct {
	node  node
	score float32
}

func (c *constantClause) open(ctx context.Context, s *scoring, required bool) (runner, error) {
	if c.score == 0 {
		return nil, nil
	}
	if _, everything := c.node.(all); everything || required {
		return &bitRunner{score: float64(c.score)}, nil
	}
	words, err := s.find(ctx, c.node)
	if words == nil {
		return nil, err
	}
	return &bitRunner{words: words, score: float64(c.score)}, nil
}

// bitRunner gives the same score to all documents of a set.
type bitRunner struct {
	words []uint64 // nil for all documents
	score float64
}

func (r *bitRunner) add(b *block, to *sums) {
	first := int(b.from) / 64
	for some := b.liveWords; some != 0; some &= some - 1 {
		i := bits.TrailingZeros64(some)
		word := b.live[i]
		if r.words != nil {
			word &= r.words[first+i]
		}
		if word == 0 {
			continue
		}
		b.touchWord(i, word)
		if word == ^uint64(0) {
			for at := i * 64; at < i*64+64; at++ {
				to[at&(blockDocs-1)] += r.score
			}
			continue
		}
		for ; word != 0; word &= word - 1 {
			to[(i*64+bits.TrailingZeros64(word))&(blockDocs-1)] += r.score
		}
	}
}

func (r *bitRunner) most(*block) float64 { return r.score }

func (r *bitRunner) least() float64 { return r.score }

// nothing is a clause that matches no documents.
type nothing struct{}

func (nothing) open(context.Context, *scoring, bool) (runner, error) { return nil, nil }
