package search

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/vitrine-dev/vitrine/server/eval"
)

// weakestFirst is a heap of the best hits, with the weakest hit on top. The field `most` is the maximum number of hits.
type weakestFirst struct {
	corpus *Corpus
	most   int
	hits   []Hit
	after  *ceiling // only hits that come after this place are wanted; nil if all hits are wanted
	// refused lists the parts with a refused hit whose score equals that of the weakest hit in the heap. The heap would also refuse all
	// later hits of these parts that have this score.
	refused []int
}

// offerBlock offers the live documents of a block. It skips documents whose score is too low.
func (h *weakestFirst) offerBlock(part int, b *block, scores *sums) {
	bar := h.bar(part)
	cut := bar.cut(b)
	for some := b.liveWords; some != 0; some &= some - 1 {
		w := bits.TrailingZeros64(some)
		word := b.live[w]
		if bar.up {
			// Nearly all documents are weaker than the hits in the heap. atLeast removes them quickly.
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

// offer adds a hit. If the heap is full, a hit that ranks before the weakest hit replaces it, and any other hit is refused.
func (h *weakestFirst) offer(hit Hit) {
	switch {
	case h.most <= 0:
	case len(h.hits) < h.most:
		h.hits = append(h.hits, hit)
		h.rise()
	case h.corpus.compareHits(hit, h.hits[0]) < 0:
		h.hits[0], h.refused = hit, h.refused[:0]
		h.sink()
	case hit.Score == h.hits[0].Score:
		h.refused = append(h.refused, hit.Part)
	}
}

// weaker reports whether hit i of the heap ranks after hit j.
func (h *weakestFirst) weaker(i, j int) bool { return h.corpus.compareHits(h.hits[i], h.hits[j]) > 0 }

// rise moves the last hit of the heap up to its place. rise and sink replace package container/heap, which allocates memory for each hit
// and calls its methods through an interface.
func (h *weakestFirst) rise() {
	for i := len(h.hits) - 1; i > 0 && h.weaker(i, (i-1)/2); i = (i - 1) / 2 {
		h.hits[i], h.hits[(i-1)/2] = h.hits[(i-1)/2], h.hits[i]
	}
}

// sink moves the first hit of the heap down to its place.
func (h *weakestFirst) sink() {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(h.hits) {
			return
		}
		if child+1 < len(h.hits) && h.weaker(child+1, child) {
			child++
		}
		if !h.weaker(child, i) {
			return
		}
		h.hits[i], h.hits[child] = h.hits[child], h.hits[i]
		i = child
	}
}

// ceiling is a place in the order by relevance. Only hits that come after the place are wanted.
type ceiling struct {
	score float32
	// docs holds one document for each part. Of the documents whose score equals that of the place, this document and all later ones come
	// after the place.
	docs []uint32
}

// ceiling returns the ceiling at a place, or nil if the place is nil.
func (c *Corpus) ceiling(at *eval.Place) *ceiling {
	if at == nil {
		return nil
	}
	limit := &ceiling{score: float32(at.Values[0].Float), docs: make([]uint32, len(c.Parts))}
	for i, p := range c.Parts {
		limit.docs[i] = p.Segment.Place(at.Created, at.ID-1) // the first document with a lower ID or an earlier time
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
	// passed reports whether a hit with exactly this score is among the best. If it is false, a hit needs a higher score.
	passed bool
}

// reached reports whether a score reaches the bar. NaN always reaches it.
func (b bar) reached(score float32) bool {
	return !(score < b.score) && (b.passed || score != b.score)
}

// cut returns a lower bound of the sums that give a score at or above the bar.
func (b bar) cut(of *block) float64 {
	cut := float64(b.score)
	if of.base != nil {
		cut -= float64(*of.base)
	}
	// The conversion of a sum to a score rounds twice. The rounding error is smaller than the amount subtracted here.
	return cut - math.Abs(float64(b.score))/(1<<20)
}

// atLeast returns the bits of word whose documents have a sum of at least cut. The parameter w is the index of the word in the block.
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

// bar returns the bar for a part. The documents of a part are offered in order. If two of them have the same score, the document that was
// offered later ranks after the other. The score of the weakest hit is therefore not enough if that hit, or a refused hit with this score,
// is in the same part.
func (h *weakestFirst) bar(part int) bar {
	switch {
	case h.most <= 0:
		return bar{up: true, score: float32(math.Inf(1))}
	case len(h.hits) < h.most:
		return bar{}
	}
	return bar{up: true, score: h.hits[0].Score, passed: h.hits[0].Part != part && !slices.Contains(h.refused, part)}
}
