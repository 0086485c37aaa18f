package sample

import (
	"math/rand/v2"
	"sort"
)

// dice is the random source for one generated thing, such as an item or a picture.
type dice struct{ *rand.Rand }

// Kinds of generated things. They make the random choices for different kinds independent, even for equal indices.
const (
	kindSample uint64 = iota
	kindItem
	kindWord
	kindFilter
	kindBoolean
	kindRanked
	kindPost
	kindPicture
	kindFamily // the numbers after it are also used, one for each family
)

// throw returns the dice for the thing with an index. Each thing has its own dice, so it can be generated without the others. PCG returns
// the same numbers in every Go release.
func throw(kind uint64, index int) dice { return dice{rand.New(rand.NewPCG(kind, uint64(index)))} }

// chance returns true with a probability of percent.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// pick returns one of the choices.
func pick[T any](d dice, from []T) T { return from[d.IntN(len(from))] }

// Zipf is a distribution of ranks, which start at 0. The probability of rank k is 1/(k+1) of the probability of rank 0.
type Zipf struct{ upTo []float64 }

// NewZipf returns the distribution over n ranks. n must be at least 1.
func NewZipf(n int) Zipf {
	z := Zipf{make([]float64, n)}
	sum := 0.0
	for k := range z.upTo {
		sum += 1 / float64(k+1)
		z.upTo[k] = sum
	}
	for k := range z.upTo {
		z.upTo[k] /= sum
	}
	return z
}

// Rank returns the rank for u in [0, 1).
func (z Zipf) Rank(u float64) int { return min(sort.SearchFloat64s(z.upTo, u), len(z.upTo)-1) }

func (z Zipf) draw(d dice) int { return z.Rank(d.Float64()) }
