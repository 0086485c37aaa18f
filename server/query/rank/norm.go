package rank

import "math/bits"

// freeLengths is the number of lengths from 0 that each have a byte of their own. For greater lengths, EncodeLength encodes what shorten
// returns.
const freeLengths = 255 - 231 // 231 is what shorten returns for the largest 32-bit length

// NoNorm is the norm of fields without lengths: keywords and booleans.
const NoNorm byte = 1

// EncodeLength encodes the number of words in a field in one byte, in the same way as Lucene's norms (SmallFloat.intToByte4). It encodes a
// length below freeLengths exactly. Of a greater length, it encodes only the four highest bits of the excess over freeLengths, so the
// encoding is exact up to 40. Lengths are from 0 to 2,147,483,647.
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

// shorten keeps the four highest bits of v. It returns three of these bits (the first is always 1) together with the number of dropped
// bits.
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
