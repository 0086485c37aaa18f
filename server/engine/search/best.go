package search

import (
	"cmp"
	"container/heap"
	"math"
	"math/bits"
	"slices"

	"github.com/vitrine-dev/vitrine/server/eval"
)

// weakestFirst is a heap of the best hits, with the weakest hit on top. It holds at most as many hits as its field most says.
type weakestFirst struct {
	corpus *Corpus
	most   int
	hits   []Hit
	after  *ceiling // only hits after this place are wanted; nil for all hits
	// refused lists the parts of refused hits that have the same score as the weakest hit in the heap. All later hits of these parts with
	// this score would be refused too.
	refused []int
}

// offerBlock offers the live documents of a block. It skips documents whose score is too low.
func (h *weakestFirst) offerBlock(part int, b *block, scores *sums) {
	bar := h.bar(part)
	cut := bar.cut(b)
	for w, word := range b.live {
		if word == 0 {
			continue
		}
		if bar.up {
			// Nearly all documents are weaker than the hits in the heap. atLeast rejects them quickly.
			word = atLeast(scores, w, word, cut)
		}
		for ; word != 0; word &= word - 1 {
			at := (w*64 + bits.TrailingZeros64(word)) & (blockDocs - 1)
			score := b.score(scores[at])
			if bar.up && !bar.reached(score) || h.after != nil && !h.after.above(part, b.from+uint32(at), score) {
				continue
			}
			h.offer(Hit{Part: part, Doc: b.from + uint32(at), Score: score})
			bar = h.bar(part)
			cut = bar.cut(b)
		}
	}
}

// offer adds a hit, unless the heap is full of better ones. If the heap is full, the hit replaces the weakest one.
func (h *weakestFirst) offer(hit Hit) {
	switch {
	case h.most <= 0:
	case len(h.hits) < h.most:
		heap.Push(h, hit)
	case h.corpus.compareHits(hit, h.hits[0]) < 0:
		h.hits[0], h.refused = hit, h.refused[:0]
		heap.Fix(h, 0)
	case hit.Score == h.hits[0].Score:
		h.refused = append(h.refused, hit.Part)
	}
}

func (h *weakestFirst) Len() int           { return len(h.hits) }
func (h *weakestFirst) Less(i, j int) bool { return h.corpus.compareHits(h.hits[i], h.hits[j]) > 0 }
func (h *weakestFirst) Swap(i, j int)      { h.hits[i], h.hits[j] = h.hits[j], h.hits[i] }
func (h *weakestFirst) Push(x any)         { h.hits = append(h.hits, x.(Hit)) }
func (h *weakestFirst) Pop() any {
	last := h.hits[len(h.hits)-1]
	h.hits = h.hits[:len(h.hits)-1]
	return last
}

// ceiling is a place in the order by relevance. The wanted hits come after it.
type ceiling struct {
	score float32
	// docs has, for each part, the first document that comes after the place if it has the same score.
	docs []uint32
}

// ceiling returns the ceiling at a place; nil if the place is nil.
func (c *Corpus) ceiling(at *eval.Place) *ceiling {
	if at == nil {
		return nil
	}
	limit := &ceiling{score: float32(at.Values[0].Float), docs: make([]uint32, len(c.Parts))}
	for i, p := range c.Parts {
		limit.docs[i] = p.Segment.Place(at.Created, at.ID-1) // the first document of a lower ID, or of an earlier time
	}
	return limit
}

// above reports whether a hit comes after the place.
func (c *ceiling) above(part int, doc uint32, score float32) bool {
	switch cmp.Compare(score, c.score) {
	case -1:
		return true
	case 0:
		return doc >= c.docs[part]
	}
	return false
}

// bar is the score that a hit must reach to be among the best.
type bar struct {
	up    bool // false while every hit is among the best
	score float32
	// passed is true if a hit with exactly this score is among the best, and false if it needs a higher score.
	passed bool
}

// reached reports whether a score reaches the bar. NaN always does.
func (b bar) reached(score float32) bool {
	return !(score < b.score) && (b.passed || score != b.score)
}

// cut returns a lower bound of the sums whose score reaches the bar.
func (b bar) cut(of *block) float64 {
	cut := float64(b.score)
	if of.base != nil {
		cut -= float64(*of.base)
	}
	// The conversion of a sum to a score rounds twice. Its error is smaller than the amount subtracted here.
	return cut - math.Abs(float64(b.score))/(1<<20)
}

// atLeast returns the bits of word whose documents have a sum that is not less than cut. w is the index of the word in the block.
func atLeast(scores *sums, w int, word uint64, cut float64) uint64 {
	of := scores[w*64 : w*64+64]
	var found uint64
	if bits.OnesCount64(word) < 16 {
		for rest := word; rest != 0; rest &= rest - 1 {
			if !(of[bits.TrailingZeros64(rest)] < cut) {
				found |= rest & -rest
			}
		}
		return found
	}
	for i, sum := range of {
		if !(sum < cut) {
			found |= 1 << i
		}
	}
	return found & word
}

// bar returns the bar for a part. Documents of a part are offered in order, so a document comes after earlier ones of the part that have
// the same score.
func (h *weakestFirst) bar(part int) bar {
	switch {
	case h.most <= 0:
		return bar{up: true, score: float32(math.Inf(1))}
	case len(h.hits) < h.most:
		return bar{}
	}
	return bar{up: true, score: h.hits[0].Score, passed: h.hits[0].Part != part && !slices.Contains(h.refused, part)}
}
