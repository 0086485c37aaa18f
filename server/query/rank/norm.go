package rank

import "math/bits"

// freeLengths is the number of lengths with their own byte. Each longer length shares its byte with adjacent lengths.
const freeLengths = 255 - 231 // 231 is the shortened form of the largest 32-bit length

// NoNorm is the norm of fields without lengths: keywords and booleans.
const NoNorm byte = 1

// EncodeLength encodes the number of words in a field in one byte, like Lucene's norms (SmallFloat.intToByte4): exactly up
// to 40, then with three significant bits after the first. Lengths are 0 to 2,147,483,647.
func EncodeLength(length int) byte {
	if length < freeLengths {
		return byte(length)
	}
	return byte(freeLengths + shorten(uint64(length-freeLengths)))
}

// DecodeLength returns the length that ranking uses for a norm: the smallest of those that share it.
func DecodeLength(norm byte) int {
	if int(norm) < freeLengths {
		return int(norm)
	}
	return freeLengths + int(lengthen(uint64(norm)-freeLengths))
}

// shorten keeps the four highest bits of v: three of them (the first is implied) and the shift.
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
