package search

import (
	"context"
	"math"
	"math/bits"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// frequentRunner gives the scores of a frequent term of a text field.
type frequentRunner struct {
	// docs has one bit for each document of the segment.
	docs    []uint64
	outline segment.Outline
	freqs   segment.Frequencies
	norms   norms
	scorer  rank.Scorer
	table   *scoreTable
}

// openFrequent returns a runner that uses the outline of the term, or nil if the term has no outline.
func (t *termClause) openFrequent(ctx context.Context, s *scoring, f *segment.Field, postings segment.Postings) (*frequentRunner, error) {
	if s.shown || s.corpus.Cache == nil {
		return nil, nil
	}
	outline := postings.Outline()
	if outline == nil {
		return nil, nil
	}
	docs, err := s.termBits(ctx, f, t.term, postings)
	if err != nil {
		return nil, err
	}
	norms := s.lengthNorms(f)
	return &frequentRunner{
		docs: docs, outline: outline, freqs: postings.Frequencies(), norms: norms, scorer: t.scorer, table: t.scores(norms),
	}, nil
}

func (r *frequentRunner) most(b *block) float64 {
	shortest := r.outline.Shortest(int(b.from / blockDocs))
	var most float32
	for freq := 1; freq < tableFreqs; freq++ {
		if norm := byte(shortest); norm <= r.table.longest { // otherwise, no text of the block has this frequency
			most = max(most, r.table.scores[freq<<8|int(norm)])
		}
		shortest >>= 8
	}
	if byte(shortest) < math.MaxUint8 {
		most = r.scorer.Most()
	}
	return float64(most)
}

func (r *frequentRunner) least() float64 { return float64(r.scorer.Score(1, r.norms.longest)) }

func (r *frequentRunner) add(b *block, to *sums) {
	// doc and count are the numbers of the word's documents, and of their counts, before docs[next].
	doc, count := r.outline.Block(int(b.from / blockDocs))
	docs, next := r.docs[b.from/64:(b.to+63)/64], 0
	norms := r.norms.byDoc[b.from:b.to]
	for some := b.liveWords; some != 0; some &= some - 1 {
		i := bits.TrailingZeros64(some)
		if i >= len(docs) {
			break
		}
		word := docs[i]
		wanted := word & b.live[i]
		if wanted == 0 {
			continue
		}
		b.touchWord(i, wanted)
		skipped := ones(docs[next:i])
		count += r.freqs.CountsBetween(doc, doc+skipped)
		doc += skipped
		n := bits.OnesCount64(word)
		counted := r.freqs.Counted(doc, n)
		for ; wanted != 0; wanted &= wanted - 1 {
			freq := uint32(1)
			if counted != 0 {
				before := bits.OnesCount64(word & (wanted&-wanted - 1))
				if counted>>before&1 != 0 {
					freq = r.freqs.Count(count + bits.OnesCount64(counted&(1<<before-1)))
				}
			}
			at := i*64 + bits.TrailingZeros64(wanted)
			to[at&(blockDocs-1)] += r.table.score(r.scorer, freq, norms[at])
		}
		doc += n
		count += bits.OnesCount64(counted)
		next = i + 1
	}
}
