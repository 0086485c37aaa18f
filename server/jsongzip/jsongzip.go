// Package jsongzip compresses JSON in the gzip format (RFC 1952). It is for pages of items, in which every item has nearly the same members
// as the item before it. For a page, it takes less than half the time of a general compressor. It also compresses any other bytes
// correctly, but the result can be much longer than the result of a general compressor.
//
// The package is fast because it expects the structure of a page:
//
//   - finder.go finds repeated bytes (RFC 1951, 4). It compares each item with the previous one, member by member. It searches earlier
//     bytes only where a value differs.
//   - code.go builds the Huffman code from the lengths in lengths.go. The code does not depend on the body. So nothing has to count
//     symbols, and symbols.go writes each symbol as soon as it is known.
//
// The invariants are:
//
//   - The same body always results in the same bytes, because the ETag of a compressed response is strong. Therefore, nothing depends on
//     earlier bodies, and the gzip header contains no time.
//   - A match is written only after its bytes have been compared. The structure of the body affects only the length of the result.
//   - A block that does not become shorter is stored, so the result is never much longer than the body.
//
// The package may import only the standard library.
package jsongzip

import (
	"encoding/binary"
	"hash/crc32"
	"sync"
)

const (
	// header is the header of a gzip member: no flags, no time, the fastest compression, an unknown system (RFC 1952, 2.3).
	header = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"

	// maxStored is the maximum length of a stored block (RFC 1951, 3.2.4), in bytes. maxBlock is the maximum length of any other block,
	// which the package chooses so that most pages fit in one block.
	maxStored = 1<<16 - 1
	maxBlock  = 2 * maxStored
)

// Compressor compresses bodies. The zero Compressor is ready for use. It keeps about 210 KiB for each body that is compressed at the same
// time. It is safe for concurrent use, and must not be copied after first use.
type Compressor struct{ pool sync.Pool }

// Append appends the compressed body to dst, as one gzip member. dst and body must not overlap.
func (c *Compressor) Append(dst, body []byte) []byte {
	w, ok := c.pool.Get().(*writer)
	if !ok {
		w = new(writer)
	}
	defer c.pool.Put(w)
	w.reset()
	dst = append(dst, header...)
	start := 0
	for ; len(body)-start > maxBlock; start += maxBlock {
		dst = w.appendBlock(dst, body[:start+maxBlock], start, false)
	}
	dst = w.appendBlock(dst, body, start, true)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(body))
	return binary.LittleEndian.AppendUint32(dst, uint32(len(body))) // modulo 2^32, as RFC 1952 requires
}

// writer writes the blocks of one body at a time.
type writer struct {
	finder    finder
	code      *code
	unwritten int // the position in the body of the first byte that is not yet written
	output    output
	buffer    [bufferLength]byte
}

func (w *writer) reset() {
	w.finder.reset()
	w.output = output{}
	w.unwritten = 0
	w.code = forPages
}

// appendBlock appends body[start:] to dst, as one block or as stored blocks. Matches can refer to the bytes before start. After the last
// block, appendBlock fills the last byte with zero bits.
func (w *writer) appendBlock(dst, body []byte, start int, last bool) []byte {
	before := w.output
	w.begin(last)
	w.find(body, start)
	w.end(body)
	if last {
		w.output = w.output.align().flush(&w.buffer)
	}
	if length := len(body) - start; w.output.at > length {
		w.output = before
		return w.appendStored(dst, body[start:], last)
	}
	dst = append(dst, w.buffer[:w.output.at]...)
	w.output.at = 0
	return dst
}

// appendStored appends part to dst as stored blocks. If last is true, the last of them ends the body.
func (w *writer) appendStored(dst, part []byte, last bool) []byte {
	for {
		n := min(len(part), maxStored)
		w.output = w.output.add(blockType(stored, last && n == len(part))).align().flush(&w.buffer)
		dst = append(dst, w.buffer[:w.output.at]...)
		w.output = output{}
		dst = binary.LittleEndian.AppendUint16(dst, uint16(n))
		dst = binary.LittleEndian.AppendUint16(dst, ^uint16(n))
		dst = append(dst, part[:n]...)
		if part = part[n:]; len(part) == 0 {
			return dst
		}
	}
}
