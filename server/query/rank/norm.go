package rank

import "math/bits"

// freeLengths is the number of lengths that have a byte of their own; longer ones share a byte with their neighbours.
const freeLengths = 255 - 231 // 231 is the shortened form of the largest 32-bit length

// NoNorm is the norm of fields that keep no lengths: keywords and booleans.
const NoNorm byte = 1

// EncodeLength folds the number of words in a field into one byte, as Lucene's norms do (SmallFloat.intToByte4): exact
// up to 40, then with three significant bits after the first. Lengths are 0 to 2,147,483,647.
func EncodeLength(length int) byte {
	if length < freeLengths {
		return byte(length)
	}
	return byte(freeLengths + shorten(uint64(length-freeLengths)))
}

// DecodeLength returns the length that ranking takes a norm to mean: the smallest of those that share it.
func DecodeLength(norm byte) int {
	if int(norm) < freeLengths {
		return int(norm)
	}
	return freeLengths + int(lengthen(uint64(norm)-freeLengths))
}

// shorten keeps the four highest bits of v: three of them (the first is implied) and how far they were shifted.
func shorten(v uint64) uint64 {
	n := bits.Len64(v)
	if n < 4 {
		return v // nothing to round
	}
	shift := n - 4
	return v>>shift&7 | uint64(shift+1)<<3
}

func lengthen(v uint64) uint64 {
	if v>>3 == 0 {
		return v & 7
	}
	return (v&7 | 8) << (v>>3 - 1)
}
