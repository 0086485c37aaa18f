package segment

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// bitSlices is a transposed column of small numbers. There is a slice for each bit position. A slice has one bit for each number, in words
// of 64 bits. The bit is set if the stored number has a 0 at that position. A comparison of 64 numbers with a bound then takes one
// operation per slice. The slices are built in memory on the first range query. They take no more memory than the column.
type bitSlices struct {
	// blocks has depth slices per block; a block is sliceBlock numbers. Within a block, the slice of the lowest bit comes first.
	blocks []sliceWords
	depth  int
}

type sliceWords [64]uint64

const sliceBlock = 64 * len(sliceWords{})

// Slices are built for columns that have at most sliceWidth bytes per number and at least sliceFrom numbers. Scanning fewer numbers is
// fast, and every write can replace small segments.
const (
	sliceWidth = 2
	sliceFrom  = 1 << 12
)

// newSlices builds the slices of the first count numbers of a column.
func newSlices(n *numbers, count int) *bitSlices {
	some := uint64(0) // the bits that are set in at least one number
	for i := range count {
		some |= n.stored(i)
	}
	s := &bitSlices{depth: bits.Len64(some)}
	s.blocks = make([]sliceWords, (count+sliceBlock-1)/sliceBlock*s.depth)
	var planes [sliceWidth][64]byte // plane i holds byte i of 64 numbers
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

// gathered collects the lowest bit of each of eight bytes in one byte.
func gathered(b uint64) uint64 { return b & 0x0101010101010101 * 0x0102040810204080 >> 56 }

// find returns the positions of the stored numbers from `from` to `to` as a bitmap of 64-bit words. count is the length of the column.
func (s *bitSlices) find(count int, from, to uint64) []uint64 {
	words := make([]uint64, (count+63)/64)
	to = min(to, 1<<s.depth-1)
	var less, within sliceWords
	for rest := words; len(rest) > 0; rest = rest[min(len(less), len(rest)):] {
		slices := s.blocks[(len(words)-len(rest))/len(less)*s.depth:][:s.depth]
		if from == to {
			within.equal(slices, from)
			copy(rest, within[:])
			continue
		}
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

// equal sets w to the bitmap of the numbers that are equal to n.
func (w *sliceWords) equal(slices []sliceWords, n uint64) {
	for i := range w {
		w[i] = math.MaxUint64
	}
	for b := range slices {
		lacks, flip := &slices[b], -(n >> b & 1) // all bits of flip are set if n has the bit
		for i := 0; i < len(w); i += 4 {
			w, s := (*[4]uint64)(w[i:]), (*[4]uint64)(lacks[i:])
			w[0], w[1], w[2], w[3] = w[0]&(s[0]^flip), w[1]&(s[1]^flip), w[2]&(s[2]^flip), w[3]&(s[3]^flip)
		}
	}
}

// below sets w to the bitmap of the numbers that are less than `bound`.
func (w *sliceWords) below(slices []sliceWords, bound uint64) {
	clear(w[:])
	if bound>>len(slices) > 0 {
		for i := range w {
			w[i] = math.MaxUint64
		}
		return
	}
	// Go from the lowest bit to the highest. If only the bound has the bit, the number is less. If only the number has it, the number is not
	// less. If both or neither have it, the lower bits decide.
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
