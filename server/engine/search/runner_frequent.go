package search

import (
	"context"
	"math"
	"math/bits"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// outline summarizes a frequent term of a text field in one segment, with two words for each block of documents. The first word is the
// index of the block's first frequency, so that a block can be scored without reading the blocks before it. The second word has
// tableFreqs norms of one byte. Byte i is the norm of the shortest text in which the term has the frequency i+1. The last byte covers
// tableFreqs and all higher frequencies. If the block has no such text, the norm is 255 (longer than any text). The norms limit the
// scores of a block before any document is read, because in every corpus, a score rises with the frequency and falls with the length. The
// outline is empty if the term cannot have one, because a frequency takes more than a byte or because the file is damaged.
type outline []uint64

// outline returns the outline of a term from the Cache. If there is none, it creates the outline from the term's documents and
// frequencies and the field's norms.
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
	// docs has one bit for each document of the segment. freqs has one byte for each document that contains the term.
	docs    []uint64
	outline outline
	freqs   []byte
	norms   norms
	scorer  rank.Scorer
	table   *scoreTable
}

// openFrequent returns a runner that uses the outline of the term, or nil if the term is rare or has no outline.
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

// score adds the score of a document to its sum. doc is an index in the block, and norms and to have one element for each document of the
// block.
func (r *frequentRunner) score(doc int, freq uint32, norms []byte, to *sums) {
	to[doc&(blockDocs-1)] += r.table.score(r.scorer, freq, norms[doc])
}
