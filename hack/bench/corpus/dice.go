package corpus

import "sort"

// dice are the random choices of one thing. They are a generator of our own (SplitMix64, after Steele, Lea and Flood,
// "Fast splittable pseudorandom number generators", 2014), so that the corpus is the same bytes with every Go release.
type dice struct{ state uint64 }

// throw returns the dice of one thing of a kind: things are independent of each other, so that any part of the corpus
// can be made without the rest.
func throw(kind, index uint64) *dice {
	d := &dice{state: kind*0x9e3779b97f4a7c15 ^ index}
	d.next()
	return d
}

func (d *dice) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// roll returns a number in [0, n); n is small, so the bias of the remainder does not matter.
func (d *dice) roll(n int) int { return int(d.next() % uint64(n)) }

// share returns a number in [0, 1).
func (d *dice) share() float64 { return float64(d.next()>>11) / (1 << 53) }

// chance is true percent times in a hundred.
func (d *dice) chance(percent int) bool { return d.roll(100) < percent }

// pick returns one of the choices.
func pick[T any](d *dice, from []T) T { return from[d.roll(len(from))] }

// Zipf draws ranks: rank k, from 0, is 1/(k+1) times as likely as rank 0. Nothing but sums and quotients make it, which
// are the same on every machine.
type Zipf struct{ upTo []float64 }

// NewZipf returns the distribution over n ranks; n is at least 1.
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

// Rank returns the rank that u, in [0, 1), stands for.
func (z Zipf) Rank(u float64) int { return min(sort.SearchFloat64s(z.upTo, u), len(z.upTo)-1) }

func (z Zipf) draw(d *dice) int { return z.Rank(d.share()) }
