package jsongzip

import (
	"math/bits"
	"strings"
)

// The numbers of symbols in the alphabets (RFC 1951, 3.2.5). In the first alphabet, the symbols below endOfBlock are literals, and those
// above it are lengths. The fixed code, which only tests use, has two more lengths.
const (
	endOfBlock   = 256
	lastLength   = 285
	allLiterals  = 288
	allDistances = 30
)

// code is a pair of Huffman codes.
type code struct {
	kind      int      // the type of blocks with this code
	header    []symbol // the rest of the header of these blocks
	literals  [allLiterals]symbol
	lengths   [maxMatch + 1]symbol // for the length of a match, its symbol with the extra bits
	distances [allDistances]symbol
}

// forPages is a code for pages of items.
var forPages = newDynamicCode(literalLengths, distanceLengths)

// newDynamicCode returns the code with these lengths. Each of them is a hexadecimal digit.
func newDynamicCode(literals, distances string) *code {
	lengths := []byte(literals + distances)
	for i, digit := range lengths {
		lengths[i] = byte(strings.IndexByte("0123456789abcdef", digit))
	}
	n := len(literals)
	return newCode(dynamicCodes, dynamicHeader(lengths, n), lengths[:n], lengths[n:])
}

func newCode(kind int, header []symbol, literals, distances []byte) *code {
	c := &code{kind: kind, header: header}
	assign(c.literals[:], literals)
	assign(c.distances[:], distances)
	for n := minMatch; n <= maxMatch; n++ {
		// The first eight symbols stand for one length each. Of the following symbols, four stand for two lengths each, four for four, and
		// so on. The last symbol is an exception.
		x := n - 3
		extra := max(0, bits.Len(uint(x))-3)
		number := endOfBlock + 1 + extra<<2 + x>>extra
		if n == maxMatch {
			number, extra = lastLength, 0
		}
		s := c.literals[number]
		c.lengths[n] = s + newSymbol(x&(1<<extra-1)<<(s&0xff), extra)
	}
	return c
}

// assign sets the symbols of the code with these lengths (RFC 1951, 3.2.2). The first bit of a code is its highest bit, but the lowest bit
// of a symbol.
func assign(symbols []symbol, lengths []byte) {
	next := uint16(0)
	for n := 1; n <= 15; n++ {
		for i, length := range lengths {
			if int(length) == n {
				symbols[i] = newSymbol(int(bits.Reverse16(next)>>(16-n)), n)
				next++
			}
		}
		next <<= 1
	}
}

// dynamicHeader returns the description of a code (RFC 1951, 3.2.7). The first n lengths belong to literals. The description itself uses a
// code in which each length and the symbol that repeats a length have four bits.
func dynamicHeader(lengths []byte, n int) []symbol {
	const repeat = 16
	used := func(i int) bool { return i <= 14 || i == repeat }
	description := make([]byte, 19)
	header := []symbol{newSymbol(n-257, 5), newSymbol(len(lengths)-n-1, 5), newSymbol(len(description)-4, 4)}
	for _, i := range []int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15} { // the order in the RFC
		if used(i) {
			description[i] = 4
		}
		header = append(header, newSymbol(int(description[i]), 3))
	}
	symbols := make([]symbol, len(description))
	assign(symbols, description)
	for i := 0; i < len(lengths); {
		header = append(header, symbols[lengths[i]])
		same := 1
		for same <= 6 && i+same < len(lengths) && lengths[i+same] == lengths[i] {
			same++
		}
		if same <= 3 {
			i++
			continue
		}
		header = append(header, symbols[repeat], newSymbol(same-4, 2)) // repeats the length three to six times
		i += same
	}
	return header
}

// distance returns the code and the extra bits of a distance.
func (c *code) distance(n int) (prefix, extra symbol) {
	x := uint(n - 1)
	if x < 4 {
		return c.distances[x], 0
	}
	// Two symbols stand for two distances each, two for four, and so on.
	length := uint(bits.Len(x)) - 2
	return c.distances[2*length+x>>(length&31)], symbol(x&(1<<(length&31)-1)<<8 | length)
}
