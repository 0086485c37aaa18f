package search

import (
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// Scores are computed term by term within blocks of documents. Every clause adds its scores to an array of sums that fits into the
// processor's nearest cache. Scoring a document needs no allocation and no function call.

// blockDocs is the number of documents in a block: 64 times 64, so that a uint64 has a bit for each word of the block's bits. Every block
// begins at a multiple of blockDocs. The outlines of frequent words have an entry for each block.
const blockDocs = segment.OutlineDocs

// sums holds the sum of scores of each document of a block. The sum of document from+i is at index i.
type sums [blockDocs]float64

// blockBits is the number of 64-bit words that hold one bit for each document of a block.
const blockBits = blockDocs / 64

// Compiling fails if a block has more words than a uint64 has bits.
const _ = uint(64 - blockBits)

// block is a range of documents that are scored together.
type block struct {
	from uint32 // the first document
	to   uint32 // the end of the range (exclusive)
	// live has one bit for each document. The bit is set if the score of the document is wanted. Only the words whose bit is set in liveWords
	// are valid: the others stand for documents whose score is not wanted. In a block with few wanted documents, loops thus skip most words.
	live      []uint64
	liveWords uint64
	// touched includes every document to which a runner has added a score. touchedWords has a bit for each word that is not 0.
	touched      [blockBits]uint64
	touchedWords uint64
	// total is the number of wanted documents in the whole part.
	total int64
	// base is added to the score of every document; nil if there is nothing to add
	base *float32
}

// blocks iterates over the blocks that have wanted documents.
type blocks struct {
	block
	n int
	// words has a bit for each wanted document. If only a few documents are wanted, words is nil. In this case, docs lists the wanted
	// documents of the blocks to come, and few has the bits of the current block.
	words *[]uint64
	docs  []uint32
	few   [blockBits]uint64
	// after is the first document of the next block.
	after uint32
}

// fewShare defines when only a few documents are wanted: fewer than 1/fewShare of all documents.
const fewShare = 64

// newBlocks returns an iterator over the blocks of n documents. The wanted documents are those in set that are not in dead. It leaves out
// documents from n on, which a damaged bitmap can contain.
func newBlocks(set *roaring.Bitmap, dead []uint64, n int, c *Cache) *blocks {
	s := &blocks{n: n}
	if found := set.GetCardinality(); found < uint64(n/fewShare) {
		s.docs = set.ToArray()
		s.docs = slices.DeleteFunc(s.docs, func(doc uint32) bool {
			return int(doc) >= n || dead != nil && dead[doc/64]>>(doc%64)&1 != 0
		})
		s.total = int64(len(s.docs))
		return s
	}
	words := c.newBits(denseWords(n))
	clear(*words)
	segment.WriteBits(set, *words)
	clear((*words)[(n+63)/64:])
	if n%64 > 0 {
		(*words)[n/64] &= 1<<(n%64) - 1
	}
	return plainBlocks(words, dead, n)
}

// plainBlocks is like newBlocks, but words has the bits of the set for whole blocks. plainBlocks changes the words, and close returns them
// to the Cache.
func plainBlocks(words *[]uint64, dead []uint64, n int) *blocks {
	s := &blocks{n: n, words: words}
	for i, gone := range dead {
		(*words)[i] &^= gone
	}
	for _, word := range *words {
		s.total += int64(bits.OnesCount64(word))
	}
	return s
}

func (s *blocks) close(c *Cache) {
	if s.words != nil {
		c.putBits(s.words)
	}
}

// next moves to the next block. It returns false at the end.
func (s *blocks) next() bool {
	if s.words == nil {
		if len(s.docs) == 0 {
			return false
		}
		s.move(s.docs[0] / blockDocs * blockDocs)
		s.live, s.liveWords = s.few[:], 0
		i := 0
		for ; i < len(s.docs) && s.docs[i] < s.to; i++ {
			w := s.docs[i] / 64 % blockBits
			if s.liveWords>>w&1 == 0 {
				s.liveWords |= 1 << w
				s.few[w] = 0
			}
			s.few[w] |= 1 << (s.docs[i] % 64)
		}
		s.docs = s.docs[i:]
		return true
	}
	for from := s.after; int(from) < s.n; from += blockDocs {
		live := (*s.words)[from/64 : from/64+blockBits]
		for _, word := range live {
			if word != 0 {
				s.move(from)
				s.live, s.liveWords = live, ^uint64(0) // looking at all words would take longer than it saves
				return true
			}
		}
	}
	return false
}

// move moves to the block that begins at `from`.
func (s *blocks) move(from uint32) {
	s.after = from + blockDocs
	s.from, s.to = from, min(s.after, uint32(s.n))
	for some := s.touchedWords; some != 0; some &= some - 1 {
		s.touched[bits.TrailingZeros64(some)] = 0
	}
	s.touchedWords = 0
}

// touch adds a document to b.touched.
func (b *block) touch(doc uint32) { b.touchWord(int(doc/64%blockBits), 1<<(doc%64)) }

// touchWord adds documents to word w of b.touched. There must be at least one document.
func (b *block) touchWord(w int, docs uint64) {
	b.touched[w] |= docs
	b.touchedWords |= 1 << w
}

// touchAll adds all documents to b.touched.
func (b *block) touchAll() {
	for i := range b.touched {
		b.touched[i] = ^uint64(0)
	}
	b.touchedWords = ^uint64(0)
}

// score converts a sum to a score.
func (b *block) score(sum float64) float32 {
	if b.base != nil {
		return *b.base + float32(sum)
	}
	return float32(sum)
}

// clear resets the sums of touched documents to 0.
func (b *block) clear(scores *sums) {
	for some := b.touchedWords; some != 0; some &= some - 1 {
		w := bits.TrailingZeros64(some)
		if word := b.touched[w]; bits.OnesCount64(word) > 8 {
			clear(scores[w*64 : w*64+64])
		} else {
			for ; word != 0; word &= word - 1 {
				scores[(w*64+bits.TrailingZeros64(word))&(blockDocs-1)] = 0
			}
		}
	}
}

// dense converts a set to words with one bit for each of n documents.
func dense(b *roaring.Bitmap, n int) []uint64 {
	words := make([]uint64, denseWords(n))
	b.WriteDenseTo(words)
	return words
}

// denseWords returns the number of words that dense needs for n documents. The words cover whole blocks, even if n is not a multiple of
// blockDocs.
func denseWords(n int) int { return (n + blockDocs - 1) / blockDocs * blockBits }

// each yields the live documents of a block with their scores. The caller sets Hit.Part.
func (b *block) each(scores *sums, yield func(Hit)) {
	for some := b.liveWords; some != 0; some &= some - 1 {
		w := bits.TrailingZeros64(some)
		for word := b.live[w]; word != 0; word &= word - 1 {
			at := (w*64 + bits.TrailingZeros64(word)) & (blockDocs - 1)
			yield(Hit{Doc: b.from + uint32(at), Score: b.score(scores[at])})
		}
	}
}
