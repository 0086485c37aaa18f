package sample

import (
	"math/rand/v2"
	"sort"
)

// dice is the source of the random choices for one generated thing, such as an item or a picture.
type dice struct{ *rand.Rand }

// Kinds of generated things. Things of different kinds have independent random choices, even if their indices are equal.
const (
	kindSample uint64 = iota
	kindItem
	kindWord
	kindFilter
	kindBoolean
	kindRanked
	kindPost
	kindPicture
	kindFamily // must be last, because the numbers from kindFamily on are used, one for each family
)

// throw returns the dice for the thing with a kind and an index. Each thing has its own dice, so a thing can be generated without the
// things before it. PCG returns the same numbers in every Go release.
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
