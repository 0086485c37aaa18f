package segment

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// bitSlices is a transposed column of small numbers. The slice of a bit marks the numbers that, relative to the base, lack the bit,
// 64 numbers per word. A bound is then compared with 64 numbers by one operation per slice. The slices are built in memory on the
// first range query, and are no larger than the column.
type bitSlices struct {
	// blocks holds depth slices for every sliceBlock numbers. In each block, the slice of the lowest bit comes first.
	blocks []sliceWords
	depth  int
}

type sliceWords [64]uint64

const sliceBlock = 64 * len(sliceWords{})

// Columns of at most sliceWidth bytes per number and at least sliceFrom numbers are sliced. Fewer numbers are quickly scanned in
// place, and small segments come and go with every write.
const (
	sliceWidth = 2
	sliceFrom  = 1 << 12
)

// newSlices builds the slices of the first count numbers of a column.
func newSlices(n *numbers, count int) *bitSlices {
	some := uint64(0) // the bits that any number has
	for i := range count {
		some |= uint64(n.at(i)) - uint64(n.Base)
	}
	s := &bitSlices{depth: bits.Len64(some)}
	s.blocks = make([]sliceWords, (count+sliceBlock-1)/sliceBlock*s.depth)
	var planes [sliceWidth][64]byte // the lower bytes of 64 numbers, and the higher ones
	for at := 0; at < count; at += 64 {
		for p := range n.Width {
			planes[p] = [64]byte{}
			for i := range min(64, count-at) {
				planes[p][i] = n.b[(at+i)*n.Width+p]
			}
		}
		for b := range s.depth {
			word, plane := uint64(0), &planes[b/8]
			for i := 0; i < 64; i += 8 {
				word |= gathered(binary.LittleEndian.Uint64(plane[i:i+8])>>(b%8)) << i
			}
			s.blocks[at/sliceBlock*s.depth+b][at%sliceBlock/64] = ^word
		}
	}
	return s
}

// gathered returns the lowest bits of eight bytes as one byte.
func gathered(b uint64) uint64 { return b & 0x0101010101010101 * 0x0102040810204080 >> 56 }

// find returns, as a bitmap of 64-bit words, the positions of the numbers from base+from to base+to. count is the number of all numbers.
func (s *bitSlices) find(count int, from, to uint64) []uint64 {
	words := make([]uint64, (count+63)/64)
	to = min(to, 1<<s.depth-1)
	var less, within sliceWords
	for rest := words; len(rest) > 0; rest = rest[min(len(less), len(rest)):] {
		slices := s.blocks[(len(words)-len(rest))/len(less)*s.depth:][:s.depth]
		less.below(slices, from)
		within.below(slices, to+1)
		for i := range rest[:min(len(less), len(rest))] {
			rest[i] = within[i] &^ less[i]
		}
	}
	if rest := count % 64; rest > 0 {
		words[len(words)-1] &= 1<<rest - 1
	}
	return words
}

// below sets w to the bitmap of the numbers that are less than a bound.
func (w *sliceWords) below(slices []sliceWords, bound uint64) {
	clear(w[:])
	if bound>>len(slices) > 0 {
		for i := range w {
			w[i] = math.MaxUint64
		}
		return
	}
	// From the lowest bit up: a number is less if it lacks a bit that the bound has. If both have or both lack the bit, the lower
	// bits decide. If only the number has the bit, it is not less.
	for b := bits.TrailingZeros64(bound); b < len(slices); b++ {
		lacks := &slices[b]
		if bound>>b&1 == 1 {
			for i := 0; i < len(w); i += 4 {
				w, s := (*[4]uint64)(w[i:]), (*[4]uint64)(lacks[i:])
				w[0], w[1], w[2], w[3] = w[0]|s[0], w[1]|s[1], w[2]|s[2], w[3]|s[3]
			}
		} else {
			for i := 0; i < len(w); i += 4 {
				w, s := (*[4]uint64)(w[i:]), (*[4]uint64)(lacks[i:])
				w[0], w[1], w[2], w[3] = w[0]&s[0], w[1]&s[1], w[2]&s[2], w[3]&s[3]
			}
		}
	}
}
