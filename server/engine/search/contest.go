package search

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// contest adds the scores of a part, block by block. If only the best hits are wanted and enough of them are known, it skips documents that
// cannot be among the best. The sum of the clauses' maximum scores in a block is an upper bound for its documents, so many blocks are
// skipped before any document is read. In the remaining blocks, some clauses (mostly those of frequent words) cannot raise the score of a
// document enough to be among the best, even together. These clauses are evaluated only for documents whose sum from the other clauses is
// high enough. This algorithm is MaxScore (Turtle and Flood, "Query evaluation: strategies and optimizations", 1995), applied to each
// block. If no single clause can raise a document to the bar, only documents with at least two of the clauses are considered at all.
type contest struct {
	runners []runner
	best    *weakestFirst
	part    int
	// least is the lowest score that any of the runners gives; 0 if unknown
	least float64
	// docs holds the documents of each runner as plain bits. It is set only if all runners are frequent words that are joined by OR.
	docs [][]uint64
	// These fields are the state of the current block: the maximum score of each runner, the indexes of the runners (optional ones first,
	// see sort), and the documents that can still be among the best.
	mosts []float64
	order []int
	left  [blockBits]uint64
}

// simpleRunner is a runner whose lowest score is known.
type simpleRunner interface {
	runner
	// least returns the lowest score that the runner gives.
	least() float64
}

// newContest returns the contest of a part. The parameter `best` is nil if all scores are wanted. If alternatives is true, a document may
// have scores from only some of the runners.
func newContest(runners []runner, alternatives bool, best *weakestFirst, part int) *contest {
	c := &contest{runners: runners, best: best, part: part, least: math.Inf(1)}
	if alternatives && best != nil && len(runners) > 1 {
		c.docs = wordBits(runners)
	}
	for _, r := range runners {
		simple, ok := r.(simpleRunner)
		if !ok {
			c.least = 0
			break
		}
		c.least = min(c.least, simple.least())
	}
	return c
}

// wordBits returns the documents of each runner as plain bits, or nil if one of the runners is not a frequent word.
func wordBits(runners []runner) [][]uint64 {
	all := make([][]uint64, len(runners))
	for i, r := range runners {
		word, ok := r.(*frequentRunner)
		if !ok {
			return nil
		}
		all[i] = word.docs
	}
	return all
}

// add adds the scores of a block's documents to the sums, which must all be zero. It returns false if none of the documents can be among
// the best. Otherwise it may remove from b.live the documents that cannot be among the best.
func (c *contest) add(b *block, to *sums) bool {
	var bar bar
	if c.best != nil {
		bar = c.best.bar(c.part)
	}
	if !bar.up {
		c.addAll(b, to)
		return true
	}
	total := c.most(b)
	if !bar.reached(b.score(total)) {
		return false
	}
	if c.docs != nil && !bar.reached(b.score(slices.Max(c.mosts))) && !c.keepPairs(b) {
		return false
	}
	rest, optional := 0.0, 0
	if c.exact(total) {
		rest, optional = c.sort(b, bar)
	}
	if optional == 0 {
		c.addAll(b, to)
		if !bar.reached(b.score(0)) {
			words := b.liveWords & b.touchedWords
			for some := words; some != 0; some &= some - 1 {
				w := bits.TrailingZeros64(some)
				c.left[w] = b.touched[w] & b.live[w]
			}
			b.live, b.liveWords = c.left[:], words
		}
		return true
	}
	for _, i := range c.order[optional:] {
		c.runners[i].add(b, to)
	}
	if !c.keep(b, to, bar, rest) {
		return false
	}
	for _, i := range c.order[:optional] {
		c.runners[i].add(b, to)
	}
	return true
}

// addAll adds the scores of all runners.
func (c *contest) addAll(b *block, to *sums) {
	for _, r := range c.runners {
		r.add(b, to)
	}
}

// most sets c.mosts for a block and returns the sum of the maximum scores.
func (c *contest) most(b *block) float64 {
	total := 0.0
	c.mosts = c.mosts[:0]
	for _, r := range c.runners {
		most := r.most(b)
		c.mosts = append(c.mosts, most)
		total += most
	}
	return total
}

// keepPairs removes from b.live the documents that fewer than two runners score. It returns false if no documents remain.
func (c *contest) keepPairs(b *block) bool {
	words, first := uint64(0), int(b.from/64)
	for some := b.liveWords; some != 0; some &= some - 1 {
		w := bits.TrailingZeros64(some)
		var one, two uint64 // the documents of at least one and of at least two runners
		for _, docs := range c.docs {
			if first+w < len(docs) {
				two |= one & docs[first+w]
				one |= docs[first+w]
			}
		}
		if c.left[w] = two & b.live[w]; c.left[w] != 0 {
			words |= 1 << w
		}
	}
	b.live, b.liveWords = c.left[:], words
	return words != 0
}

// keep removes from b.live the documents whose sum so far plus `rest` is below the bar. It returns false if no documents remain.
func (c *contest) keep(b *block, to *sums, bar bar, rest float64) bool {
	words, cut := uint64(0), bar.cut(b)-rest
	for some := b.liveWords & b.touchedWords; some != 0; some &= some - 1 {
		w := bits.TrailingZeros64(some)
		left := uint64(0)
		for word := atLeast(to, w, b.touched[w]&b.live[w], cut); word != 0; word &= word - 1 {
			at := (w*64 + bits.TrailingZeros64(word)) & (blockDocs - 1)
			if bar.reached(b.score(to[at] + rest)) {
				left |= word & -word
			}
		}
		if c.left[w] = left; left != 0 {
			words |= 1 << w
		}
	}
	b.live, b.liveWords = c.left[:], words
	return words != 0
}

// sort moves the optional runners to the front of c.order. Optional runners cannot raise a document to the bar without other runners, even
// together. sort returns the sum of their maximum scores and their number.
func (c *contest) sort(b *block, bar bar) (rest float64, optional int) {
	c.order = c.order[:0]
	for i := range c.runners {
		c.order = append(c.order, i)
	}
	slices.SortFunc(c.order, func(i, j int) int { return cmp.Compare(c.mosts[i], c.mosts[j]) })
	for at, i := range c.order {
		switch c.runners[i].(type) {
		case *frequentRunner, *bitRunner: // these can access any document directly
			if !bar.reached(b.score(rest + c.mosts[i])) {
				rest += c.mosts[i]
				c.order[at], c.order[optional] = c.order[optional], c.order[at]
				optional++
			}
		}
	}
	return rest, optional
}

// exact reports whether the sum of the runners' scores is the same in any order of addition. A score has 24 significant bits, so every
// score is a multiple of the last bit of the lowest score. A sum of at most 2^28 times the lowest score therefore has at most 52
// significant bits. A float64 has 53.
func (c *contest) exact(total float64) bool {
	return c.least > 0 && total <= c.least*(1<<28)
}
