package search

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// contest adds up the scores of blocks. Where only the best are wanted, and there are enough of them already, it leaves out
// what cannot be among them. No document gets more than the most that each clause gives in a block: that rules out many
// blocks before any document is looked at. In the others, the clauses that even together cannot lift a document among the
// best (mostly those of frequent words) are only asked about documents that others have given something, and enough for
// that. This is MaxScore (Turtle and Flood, "Query evaluation: strategies and optimizations", 1995), block by block.
type contest struct {
	runners []runner
	best    *weakestFirst
	part    int
	// least is the lowest score that any of the runners gives at all; 0 where it is not known.
	least float64
	// of a block: the most that each runner gives, the places of runners by that, rising, and what is left of the documents.
	mosts []float64
	order []int
	left  [blockBits]uint64
}

// simpleRunner gives scores of single documents, for which others need not be looked at.
type simpleRunner interface {
	runner
	// least is the lowest score that it gives at all.
	least() float64
}

// newContest begins with a part; best is nil where all scores are wanted.
func newContest(runners []runner, best *weakestFirst, part int) *contest {
	c := &contest{runners: runners, best: best, part: part, least: math.Inf(1)}
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

// add adds the scores of a block's documents to sums of zeros; false where none of them can be among the best. It leaves
// those live that can.
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
	rest, optional := 0.0, 0
	if c.exact(total) {
		rest, optional = c.sort(b, bar)
	}
	if optional == 0 {
		c.addAll(b, to)
		if !bar.reached(b.score(0)) {
			for w, word := range b.touched {
				c.left[w] = word & b.live[w]
			}
			b.live = c.left[:]
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

// addAll has every runner add its scores.
func (c *contest) addAll(b *block, to *sums) {
	for _, r := range c.runners {
		r.add(b, to)
	}
}

// most notes the most that each runner gives in a block, and returns the sum.
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

// keep leaves those documents live that have a sum so far with which they reach the bar when they get rest besides; false where
// there are none.
func (c *contest) keep(b *block, to *sums, bar bar, rest float64) bool {
	some, cut := false, bar.cut(b)-rest
	for w, word := range b.touched {
		c.left[w] = 0
		if word &= b.live[w]; word == 0 {
			continue
		}
		for word = atLeast(to, w, word, cut); word != 0; word &= word - 1 {
			at := (w*64 + bits.TrailingZeros64(word)) & (blockDocs - 1)
			if bar.reached(b.score(to[at] + rest)) {
				c.left[w] |= word & -word
				some = true
			}
		}
	}
	if some {
		b.live = c.left[:]
	}
	return some
}

// sort puts first the runners that cannot lift a document over the bar together, and returns how many they are and the
// most that they give.
func (c *contest) sort(b *block, bar bar) (rest float64, optional int) {
	c.order = c.order[:0]
	for i := range c.runners {
		c.order = append(c.order, i)
	}
	slices.SortFunc(c.order, func(i, j int) int { return cmp.Compare(c.mosts[i], c.mosts[j]) })
	for at, i := range c.order {
		switch c.runners[i].(type) {
		case *frequentRunner, *bitRunner: // any document of theirs is found at once
			if !bar.reached(b.score(rest + c.mosts[i])) {
				rest += c.mosts[i]
				c.order[at], c.order[optional] = c.order[optional], c.order[at]
				optional++
			}
		}
	}
	return rest, optional
}

// exact reports whether the scores of runners can be added in any order to the same sum. Each is a whole multiple of the
// last of the 24 bits of the lowest one; a sum of at most 2^28 times that one has no more than 52 bits then, and a float64
// holds 53.
func (c *contest) exact(total float64) bool {
	return c.least > 0 && total <= c.least*(1<<28)
}
