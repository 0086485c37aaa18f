package rank

import "math/bits"

// freeLengths is the number of lengths that have a byte of their own in the encoding. Longer lengths are shortened first.
const freeLengths = 255 - 231 // 231 is the shortened form of the largest 32-bit length

// NoNorm is the norm of fields without lengths: keywords and booleans.
const NoNorm byte = 1

// EncodeLength encodes the number of words in a field in one byte, in the same way as Lucene's norms (SmallFloat.intToByte4). It encodes
// lengths below freeLengths exactly, and the four highest bits of the excess of longer lengths, so the encoding is exact up to 40. Lengths
// are from 0 to 2,147,483,647.
func EncodeLength(length int) byte {
	if length < freeLengths {
		return byte(length)
	}
	return byte(freeLengths + shorten(uint64(length-freeLengths)))
}

// DecodeLength returns the length that ranking uses for a norm: the smallest length that EncodeLength encodes as this norm.
func DecodeLength(norm byte) int {
	if int(norm) < freeLengths {
		return int(norm)
	}
	return freeLengths + int(lengthen(uint64(norm)-freeLengths))
}

// shorten keeps the four highest bits of v. The result contains three of these bits (the first is implied) and the shift.
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
