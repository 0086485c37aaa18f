package search

import (
	"context"
	"math"
	"math/bits"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// outline describes a frequent term of a text field in one segment. For each block of documents, it has the place where the
// frequencies of the block begin and, for each frequency, the shortest text in which the term has it. The place lets any block be
// scored without those before it. The texts bound the score in a block before any document is read: in any corpus, a score rises
// with the frequency and falls with the length. A block takes two words: the place, then the norms of the frequencies from 1 on, a
// byte each, the last for all from tableFreqs on. The norm is 255, that of texts longer than any, if there is no text. An empty
// outline means that the term has none: a frequency takes more than a byte, or the file is damaged.
type outline []uint64

// outline returns the outline of a term with the given documents, through the Cache.
func (s *scoring) outline(ctx context.Context, f *segment.Field, term string, docs []uint64, freqs, norms []byte) (outline, error) {
	return s.corpus.bits(ctx, s.part, "outline "+strconv.Quote(f.Name())+term, func() ([]uint64, error) {
		return newOutline(docs, freqs, norms), nil
	})
}

func newOutline(docs []uint64, freqs, norms []byte) outline {
	total := 0
	for _, word := range docs {
		total += bits.OnesCount64(word)
	}
	for _, freq := range freqs {
		if freq >= 0x80 {
			return outline{}
		}
	}
	if total != len(freqs) {
		return outline{}
	}
	o := make(outline, 0, 2*((len(docs)+blockBits-1)/blockBits))
	at := 0
	for first := 0; first < len(docs); first += blockDocs / 64 {
		var shortest [tableFreqs]byte
		for i := range shortest {
			shortest[i] = math.MaxUint8
		}
		begin := at
		for i, word := range docs[first:min(first+blockDocs/64, len(docs))] {
			for ; word != 0; word &= word - 1 {
				if freq := freqs[at]; freq > 0 {
					of := &shortest[min(freq, tableFreqs)-1]
					*of = min(*of, norms[(first+i)*64+bits.TrailingZeros64(word)])
				}
				at++
			}
		}
		var packed uint64
		for i, norm := range shortest {
			packed |= uint64(norm) << (8 * i)
		}
		o = append(o, uint64(begin), packed)
	}
	return o
}

// frequentRunner gives the scores of a frequent term of a text field.
type frequentRunner struct {
	// docs holds one bit for each document, freqs one byte for each that has the term.
	docs    []uint64
	outline outline
	freqs   []byte
	norms   norms
	scorer  rank.Scorer
	table   *scoreTable
}

// openFrequent opens a term with its outline; nil if there is none.
func (t *termClause) openFrequent(ctx context.Context, s *scoring, f *segment.Field, postings segment.Postings) (*frequentRunner, error) {
	if s.shown || s.corpus.Cache == nil || postings.Len() < tableFrom {
		return nil, nil
	}
	docs, err := s.termBits(ctx, f, t.term, postings)
	if docs == nil || err != nil {
		return nil, err
	}
	norms := s.lengthNorms(f)
	freqs := postings.Freqs()
	o, err := s.outline(ctx, f, t.term, docs, freqs, norms.byDoc)
	if len(o) == 0 || err != nil {
		return nil, err
	}
	return &frequentRunner{docs: docs, outline: o, freqs: freqs, norms: norms, scorer: t.scorer, table: t.scores()}, nil
}

func (r *frequentRunner) most(b *block) float64 {
	packed := r.outline[2*(b.from/blockDocs)+1]
	var most float32
	for freq := 1; freq < tableFreqs; freq++ {
		most = max(most, r.table[freq<<8|int(byte(packed))])
		packed >>= 8
	}
	if byte(packed) < math.MaxUint8 {
		most = r.scorer.Most()
	}
	return float64(most)
}

func (r *frequentRunner) least() float64 { return float64(r.scorer.Score(1, r.norms.longest)) }

func (r *frequentRunner) add(b *block, to *sums) {
	at := int(r.outline[2*(b.from/blockDocs)])
	docs := r.docs[b.from/64 : (b.to+63)/64]
	norms := r.norms.byDoc[b.from:b.to]
	for i, word := range docs {
		if word == 0 {
			continue
		}
		n := bits.OnesCount64(word)
		wanted := word & b.live[i]
		b.touched[i] |= wanted
		freqs := r.freqs[at : at+n]
		at += n
		if wanted == word {
			for _, freq := range freqs {
				r.score(i*64+bits.TrailingZeros64(word), uint32(freq), norms, to)
				word &= word - 1
			}
			continue
		}
		for ; wanted != 0; wanted &= wanted - 1 {
			before := word & (wanted&-wanted - 1)
			r.score(i*64+bits.TrailingZeros64(wanted), uint32(freqs[bits.OnesCount64(before)]), norms, to)
		}
	}
}

// score adds the score of a document of a block. norms and to are those of the block.
func (r *frequentRunner) score(doc int, freq uint32, norms []byte, to *sums) {
	to[doc&(blockDocs-1)] += r.table.score(r.scorer, freq, norms[doc])
}
