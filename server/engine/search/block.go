package search

import (
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// Scores are worked out term by term within blocks of documents: every clause adds what it gives to an array of sums that
// stays in the processor's nearest cache, and nothing is allocated or called for a single document.

// blockDocs is the number of documents in a block, which begins at a multiple of it: a power of two, and of 64.
const blockDocs = 4096

// sums holds what each document of a block has got: document from+i at i.
type sums [blockDocs]float64

// blockBits is the number of words with one bit for each document of a block.
const blockBits = blockDocs / 64

// block is the documents that are scored at a time.
type block struct {
	from uint32 // the first
	to   uint32 // behind the last
	// live are the documents whose scores are wanted, one bit each.
	live []uint64
	// touched are those that a runner has given a score, and maybe others.
	touched [blockBits]uint64
	// total is the number of documents wanted in the whole part.
	total int64
	// base is what every document gets on top; nil for nothing.
	base *float32
}

// blocks goes through the blocks with documents that are wanted.
type blocks struct {
	block
	n int
	// words holds one bit for each document. Where few are wanted, it is nil, docs are those left, and few is of one block.
	words *[]uint64
	docs  []uint32
	few   [blockBits]uint64
	// after is where the block behind the present one begins.
	after uint32
}

// fewShare is the number of documents for each wanted one from which on wanted ones are few.
const fewShare = 64

// newBlocks returns the blocks of n documents with those of a set that are not among the dead.
func newBlocks(set *roaring.Bitmap, dead []uint64, n int, c *Cache) *blocks {
	s := &blocks{n: n}
	if found := set.GetCardinality(); found < uint64(n/fewShare) {
		s.docs = set.ToArray()
		if dead != nil {
			s.docs = slices.DeleteFunc(s.docs, func(doc uint32) bool { return dead[doc/64]>>(doc%64)&1 != 0 })
		}
		s.total = int64(len(s.docs))
		return s
	}
	s.words = c.newBits(denseWords(n))
	clear(*s.words)
	set.WriteDenseTo(*s.words)
	for i, gone := range dead {
		(*s.words)[i] &^= gone
	}
	for _, word := range *s.words {
		s.total += int64(bits.OnesCount64(word))
	}
	return s
}

func (s *blocks) close(c *Cache) {
	if s.words != nil {
		c.putBits(s.words)
	}
}

// next goes to the next block; false at the end.
func (s *blocks) next() bool {
	if s.words == nil {
		if len(s.docs) == 0 {
			return false
		}
		s.move(s.docs[0] / blockDocs * blockDocs)
		s.few = [blockBits]uint64{}
		s.live = s.few[:]
		i := 0
		for ; i < len(s.docs) && s.docs[i] < s.to; i++ {
			s.live[s.docs[i]/64%blockBits] |= 1 << (s.docs[i] % 64)
		}
		s.docs = s.docs[i:]
		return true
	}
	for from := s.after; int(from) < s.n; from += blockDocs {
		live := (*s.words)[from/64 : from/64+blockBits]
		for _, word := range live {
			if word != 0 {
				s.move(from)
				s.live = live
				return true
			}
		}
	}
	return false
}

// move goes to the block that begins at a document.
func (s *blocks) move(from uint32) {
	s.after = from + blockDocs
	s.from, s.to = from, min(s.after, uint32(s.n))
	s.touched = [blockBits]uint64{}
}

// touch marks a document.
func (b *block) touch(doc uint32) {
	b.touched[doc/64%blockBits] |= 1 << (doc % 64)
}

// touchAll marks all documents.
func (b *block) touchAll() {
	for i := range b.touched {
		b.touched[i] = ^uint64(0)
	}
}

// score is what a sum comes to.
func (b *block) score(sum float64) float32 {
	if b.base != nil {
		return *b.base + float32(sum)
	}
	return float32(sum)
}

// clear sets the sums of touched documents back to nothing.
func (b *block) clear(scores *sums) {
	for w, word := range b.touched {
		switch {
		case word == 0:
		case bits.OnesCount64(word) > 8:
			clear(scores[w*64 : w*64+64])
		default:
			for ; word != 0; word &= word - 1 {
				scores[(w*64+bits.TrailingZeros64(word))&(blockDocs-1)] = 0
			}
		}
	}
}

// dense writes a set as one bit for each of n documents.
func dense(b *roaring.Bitmap, n int) []uint64 {
	words := make([]uint64, denseWords(n))
	b.WriteDenseTo(words)
	return words
}

// denseWords is the number of words with one bit for each of n documents, up to the end of their last block.
func denseWords(n int) int { return (n + blockDocs - 1) / blockDocs * blockBits }

// each yields the live documents of a block with their scores; the part is for the caller to say.
func (b *block) each(scores *sums, yield func(Hit)) {
	for w, word := range b.live {
		for ; word != 0; word &= word - 1 {
			at := (w*64 + bits.TrailingZeros64(word)) & (blockDocs - 1)
			yield(Hit{Doc: b.from + uint32(at), Score: b.score(scores[at])})
		}
	}
}
