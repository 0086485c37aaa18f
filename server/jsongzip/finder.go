package jsongzip

import (
	"encoding/binary"
	"math/bits"
)

const (
	window = 1 << 15 // the maximum distance of a match (RFC 1951, 2)

	// keyLength is the number of bytes by which values are looked up. More bytes would miss an ID that is repeated in a URL, followed by
	// another character.
	keyLength = 5
	tableBits = 12 // a table of 16 KiB fits in the processor's nearest cache

	// maxStep is the longest part of a value that find skips at once, in bytes. It limits the time for bodies without quotes.
	maxStep = 128
)

// finder holds the state of find between blocks.
type finder struct {
	// ref is the position that corresponds to the current position. In a page, it is usually one item before the current position, at the
	// same member.
	ref int
	// seen holds, for each hash of keyLength bytes, the position (modulo 2^32) of the last value, or rest of a value, that began with such
	// bytes.
	seen [1 << tableBits]uint32
}

func (f *finder) reset() {
	f.ref = 0
	clear(f.seen[:])
}

// find writes the matches in body[at:], each with the literals before it. It leaves the last few bytes to end.
//
// While the bytes at the current position equal those at ref, they form one match. The first difference is usually inside a value. Then
// both positions move to the end of the value, where the items are equal again. At the end of an item, ref reaches the start of the item
// that was just written, because the items follow each other.
func (w *writer) find(body []byte, at int) {
	ref := w.finder.ref
	end := len(body) - 8
	for at < end {
		earlier, stop := ref, at
		if body[at] == '"' && body[ref] == '"' {
			stop, ref = stop+1, ref+1 // the names of two members differ, or one of the objects has ended
		}
		stop, ref = quote(body, stop), min(quote(body, ref), at)
		from := -1
		if stop-at >= minMatch {
			from = w.finder.lookUp(body, at, stop)
		}
		if from < 0 {
			at = stop
		} else {
			n := common(body[:stop], from, at) // comparing more bytes, which may not be used, would take quadratic time
			switch {
			case at+n < stop || body[from+n] != body[stop]:
				// The rest of the value may be equal again, for example the end of a URL after an ID of the same length.
				if at+n < end && load32(body, earlier+n) == load32(body, at+n) {
					ref = earlier + n
				}
			case stop < end && load32(body, ref) == load32(body, stop):
				// A match from ref is likely to be longer.
			default:
				if n += common(body, from+n, at+n); body[stop] == '"' {
					ref = from + n
				}
			}
			w.match(body, at, n, at-from)
			at += n
		}
		if at < end && ref < at && at-ref <= window && load32(body, ref) == load32(body, at) {
			n := common(body, ref, at)
			w.match(body, at, n, at-ref)
			at += n
			ref += n
		}
	}
	w.finder.ref = ref
}

// lookUp looks up body[at:stop], or its first keyLength bytes if it is longer. It returns an earlier position in the window, where at least
// minMatch bytes are equal, or -1. lookUp remembers at for later calls.
func (f *finder) lookUp(body []byte, at, stop int) int {
	const factor = 0x9e3779b185ebca87 // an odd number with bits in no pattern
	key := load64(body, at) << (64 - 8*keyLength)
	if n := stop - at; n < keyLength {
		key <<= 8 * uint(keyLength-n) & 63
	}
	slot := &f.seen[key*factor>>(64-tableBits)]
	distance := int(uint32(at) - *slot)
	*slot = uint32(at)
	if from := at - distance; from >= 0 && 0 < distance && distance <= window && load32(body, from) == load32(body, at) {
		return from
	}
	return -1
}

// quote returns the position of the first quote from at on. If there is no quote in the next maxStep bytes, it returns a
// position after them.
func quote(body []byte, at int) int {
	const ones = 0x0101010101010101
	for end := min(at+maxStep, len(body)-8); at < end; at += 8 {
		// The lowest byte that is equal to a quote becomes 0x80, and all bytes below it become 0.
		x := load64(body, at) ^ '"'*ones
		if found := (x - ones) &^ x & (0x80 * ones); found != 0 {
			return at + bits.TrailingZeros64(found)>>3
		}
	}
	return min(at, len(body))
}

// common returns the number of bytes from b on that are equal to those from a on. a is less than b.
func common(body []byte, a, b int) int {
	start := b
	for b+8 <= len(body) {
		if x := load64(body, a) ^ load64(body, b); x != 0 {
			return b - start + bits.TrailingZeros64(x)>>3
		}
		a += 8
		b += 8
	}
	for b < len(body) && body[a] == body[b] {
		a++
		b++
	}
	return b - start
}

func load64(body []byte, at int) uint64 { return binary.LittleEndian.Uint64(body[at:]) }
func load32(body []byte, at int) uint32 { return binary.LittleEndian.Uint32(body[at:]) }
