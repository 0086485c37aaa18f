package automaton

import (
	"slices"
	"unicode/utf8"
)

// runeRange is a closed range of code points.
type runeRange struct{ lo, hi rune }

// byteRange is a closed range of bytes.
type byteRange struct{ lo, hi byte }

// normalise sorts ranges, and merges ranges that overlap or are adjacent.
func normalise(set []runeRange) []runeRange {
	set = slices.Clone(set)
	slices.SortFunc(set, func(a, b runeRange) int { return int(a.lo - b.lo) })
	out := set[:0]
	for _, r := range set {
		if n := len(out); n > 0 && r.lo <= out[n-1].hi+1 {
			out[n-1].hi = max(out[n-1].hi, r.hi)
			continue
		}
		out = append(out, r)
	}
	return out
}

// The surrogates are code points that no valid text contains. A range can contain them, but does not begin or end with one.
const (
	firstSurrogate = 0xD800
	lastSurrogate  = 0xDFFF
)

// complement returns the code points that are not in a normalized set.
func complement(set []runeRange) []runeRange {
	var out []runeRange
	next := rune(0)
	for _, r := range append(slices.Clone(set), runeRange{utf8.MaxRune + 1, utf8.MaxRune + 1}) {
		lo, hi := next, r.lo-1
		next = r.hi + 1
		if lo >= firstSurrogate && lo <= lastSurrogate {
			lo = lastSurrogate + 1
		}
		if hi >= firstSurrogate && hi <= lastSurrogate {
			hi = firstSurrogate - 1
		}
		if lo <= hi {
			out = append(out, runeRange{lo, hi})
		}
	}
	return out
}

// utf8Sequences returns sequences of byte ranges that together accept exactly the UTF-8 encodings of the code points in a range. It omits
// surrogates, which have no UTF-8 encoding.
func utf8Sequences(r runeRange) [][]byteRange {
	var out [][]byteRange
	var split func(lo, hi rune)
	split = func(lo, hi rune) {
		if lo > hi {
			return
		}
		if lo <= lastSurrogate && hi >= firstSurrogate {
			split(lo, firstSurrogate-1)
			split(lastSurrogate+1, hi)
			return
		}
		for _, top := range [...]rune{0x7F, 0x7FF, 0xFFFF} {
			if lo <= top && top < hi {
				split(lo, top)
				split(top+1, hi)
				return
			}
		}
		// The encodings of lo and hi now have the same length. Split the range until, after the first byte in which the encodings of both ends
		// differ, all bytes range from 80 to BF.
		for shift := 6; shift <= 18; shift += 6 {
			mask := rune(1)<<shift - 1
			if hi>>shift == 0 && hi <= 0x7F || lo&^mask == hi&^mask {
				continue
			}
			if lo&mask != 0 {
				split(lo, lo|mask)
				split((lo|mask)+1, hi)
				return
			}
			if hi&mask != mask {
				split(lo, hi&^mask-1)
				split(hi&^mask, hi)
				return
			}
		}
		var a, b [utf8.UTFMax]byte
		n := utf8.EncodeRune(a[:], lo)
		utf8.EncodeRune(b[:], hi)
		seq := make([]byteRange, n)
		for i := range seq {
			seq[i] = byteRange{a[i], b[i]}
		}
		out = append(out, seq)
	}
	split(max(r.lo, 0), min(r.hi, utf8.MaxRune))
	return out
}
