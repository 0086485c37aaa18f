package jsongzip

import "encoding/binary"

const (
	// minMatch and maxMatch limit the length of a match. RFC 1951 also allows matches of three bytes, but these save nothing.
	minMatch = 4
	maxMatch = 258

	// maxBits is the maximum length of a code. Four literals therefore fit in an output, after up to seven bits that are not yet in the
	// buffer. A match also fits: it consists of two codes with at most 5 and 13 extra bits.
	maxBits = 12

	// bufferLength is enough for any block. A match is at most 42 bits long, which is less than the literals for minMatch bytes. The
	// additional bytes are for the header, and for the bytes that flush writes ahead.
	bufferLength = maxBlock*maxBits/8 + 1024
)

// symbol is a sequence of up to 24 bits. The lowest eight bits of a symbol contain the length of the sequence. The sequence is above them,
// and begins with its lowest bit.
type symbol uint32

func newSymbol(bits, length int) symbol { return symbol(bits<<8 | length) }

// The types of blocks (RFC 1951, 3.2.3).
const (
	stored       = 0
	dynamicCodes = 2
)

// blockType returns the first three bits of a block.
func blockType(kind int, last bool) symbol {
	if last {
		return newSymbol(kind<<1|1, 3)
	}
	return newSymbol(kind<<1, 3)
}

// output is the state of the bit stream: the bits that are not yet in the buffer, their number, and the position in the buffer where they
// will be. The methods return a new output instead of changing it, so that the compiler can keep an output in registers.
type output struct {
	bits  uint64
	count uint
	at    int
}

// add adds a symbol. An output holds at most 63 bits, so the caller must call flush before a symbol would exceed them.
func (o output) add(s symbol) output {
	return output{o.bits | uint64(s>>8)<<(o.count&63), o.count + uint(s&0xff), o.at}
}

// align adds zero bits up to the end of a byte.
func (o output) align() output { return output{o.bits, (o.count + 7) &^ 7, o.at} }

// flush moves all complete bytes to the buffer. It does this with a single write of eight bytes. The next flush overwrites those of them
// that are not complete.
func (o output) flush(buffer *[bufferLength]byte) output {
	binary.LittleEndian.PutUint64(buffer[o.at:], o.bits)
	return output{o.bits >> (o.count & 0x38), o.count & 7, o.at + int(o.count>>3)}
}

// begin writes the header of a block.
func (w *writer) begin(last bool) {
	o := w.output.add(blockType(w.code.kind, last)).flush(&w.buffer)
	for _, s := range w.code.header {
		o = o.add(s).flush(&w.buffer)
	}
	w.output = o
}

// end writes the rest of body as literals, and the end of the block.
func (w *writer) end(body []byte) {
	o := w.output
	for _, b := range body[w.unwritten:] {
		o = o.add(w.code.literals[b]).flush(&w.buffer)
	}
	w.unwritten = len(body)
	w.output = o.add(w.code.literals[endOfBlock]).flush(&w.buffer)
}

// match writes the bytes before body[at] as literals, and then a match: the bytes in body[at:at+length] are equal to those that are
// distance bytes before them. length is at least minMatch. distance is from 1 to window.
func (w *writer) match(body []byte, at, length, distance int) {
	o, code := w.output, w.code
	if i := w.unwritten; i < at {
		for ; i+4 <= at; i += 4 {
			b := body[i : i+4 : i+4]
			o = o.add(code.literals[b[0]]).add(code.literals[b[1]]).add(code.literals[b[2]]).add(code.literals[b[3]]).flush(&w.buffer)
		}
		// Up to three literals are left. The compiler translates these conditions without branches: mispredicted branches would take longer than
		// adding empty symbols. The match has at least four bytes, so body[i+2] exists.
		b := body[i : i+3 : i+3]
		first, second, third := code.literals[b[0]], code.literals[b[1]], code.literals[b[2]]
		if at < i+1 {
			first = 0
		}
		if at < i+2 {
			second = 0
		}
		if at < i+3 {
			third = 0
		}
		o = o.add(first).add(second).add(third).flush(&w.buffer)
	}
	w.unwritten = at + length
	d, extra := code.distance(distance)
	for length > maxMatch {
		n := min(maxMatch, length-minMatch)
		o = o.add(code.lengths[n]).add(d).add(extra).flush(&w.buffer)
		length -= n
	}
	w.output = o.add(code.lengths[length]).add(d).add(extra).flush(&w.buffer)
}
