package synced

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The format of Pebble's MANIFESTs and logs, as the package comment of pebble/record describes it. A file consists of blocks, and a block
// of chunks. A record is one chunk or several. Pebble's own reader does not say at which chunk it stopped, or what follows this chunk.
const (
	blockSize = 32 << 10

	// The header of a chunk contains a checksum, a size and a type. In a log, it also contains the number of the log. In a log of a current
	// format, the length of the log that was synced before the chunk was written follows.
	plainHeader = 7
	logHeader   = plainHeader + 4
	syncHeader  = logHeader + 8
	// The types of chunks: for each form of the header, a whole record, and the first, a middle and the last chunk of a record.
	firstPlain, firstLog, firstSync, types = 1, 5, 9, 13
	whole, first                           = 0, 1
)

// chunk is a valid chunk.
type chunk struct {
	end  int // in the block
	role int
	// synced is the length of the log that was synced before the chunk was written, or 0 if the chunk does not say so.
	synced  int64
	payload []byte
}

// parse returns the chunk at an offset of a block. number is the number of the log, or 0 for a MANIFEST. ok is false if there is no valid
// chunk.
func parse(block []byte, at int, number uint64) (c chunk, ok bool) {
	b := block[at:]
	if len(b) < plainHeader || b[6] == 0 || b[6] >= types {
		return chunk{}, false
	}
	header := plainHeader
	switch kind := int(b[6]); {
	case kind >= firstSync:
		header, c.role = syncHeader, kind-firstSync
	case kind >= firstLog:
		header, c.role = logHeader, kind-firstLog
	default:
		c.role = kind - firstPlain
	}
	size := header + int(binary.LittleEndian.Uint16(b[4:]))
	isLog := number > 0
	if isLog != (header > plainHeader) || size > len(b) || isLog && binary.LittleEndian.Uint32(b[plainHeader:]) != uint32(number) {
		return chunk{}, false
	}
	if checksum(b[6:size]) != binary.LittleEndian.Uint32(b) {
		return chunk{}, false
	}
	if header == syncHeader {
		c.synced = int64(binary.LittleEndian.Uint64(b[logHeader:]))
	}
	c.end, c.payload = at+size, b[header:size]
	return c, true
}

// checksum returns Pebble's checksum: a CRC-32C, rotated, plus a constant.
func checksum(b []byte) uint32 {
	sum := crc32.Checksum(b, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// isTrailer reports whether b begins with the chunk at the end of a log that was closed.
func isTrailer(b []byte, number uint64) bool {
	return number > 0 && len(b) >= logHeader && binary.LittleEndian.Uint32(b) == 0 && binary.LittleEndian.Uint16(b[4:]) == 0 &&
		b[6] == firstLog && binary.LittleEndian.Uint32(b[plainHeader:]) == uint32(number)+1
}

// extent describes how far a file can be read.
type extent struct {
	// end is the offset after the last chunk before the first one that is not valid.
	end int64
	// rest is the number of bytes from end to the last one that is not zero. It is 0 if the file ends at end. Bytes of zero follow a log whose
	// space Pebble has reserved.
	rest int64
	// behind describes the valid chunks after end.
	behind behind
}

// behind describes the chunks after the first one that is not valid.
type behind struct {
	// batches is the number of records that begin there.
	batches int
	// synced is the highest length that one of them says was synced.
	synced int64
}

// measure reads a file. number is the number of the log, or 0 for a MANIFEST. measure calls visit with the beginning of each record before
// the first chunk that is not valid.
func measure(f vfs.File, number uint64, visit func(record []byte)) (extent, error) {
	e, valid := extent{}, true
	block := make([]byte, blockSize)
	for start := int64(0); ; start += blockSize {
		n, err := io.ReadFull(f, block)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return extent{}, err
		}
		at := 0
		if valid {
			at, valid = follow(block[:n], number, visit)
			e.end = start + int64(at)
		}
		if !valid {
			e.behind.search(block[at:n], number)
		}
		for i := n; i > at; i-- {
			if block[i-1] != 0 {
				e.rest = start + int64(i) - e.end
				break
			}
		}
		if n < blockSize {
			return e, nil
		}
	}
}

// follow returns the offset after the valid chunks at the start of a block, and whether the next block continues them. A writer that has no
// room for another chunk in a block fills the block with zeros.
func follow(block []byte, number uint64, visit func([]byte)) (at int, goesOn bool) {
	for {
		c, ok := parse(block, at, number)
		if !ok {
			break
		}
		if c.role == whole || c.role == first {
			visit(c.payload)
		}
		at = c.end
	}
	if isTrailer(block[at:], number) {
		return at + logHeader, false
	}
	if len(block) < blockSize || blockSize-at >= syncHeader || !zeros(block[at:]) {
		return at, false
	}
	return blockSize, true
}

func zeros(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// search looks for valid chunks at every offset of b, because the damage may have changed the size of a chunk.
func (r *behind) search(b []byte, number uint64) {
	for at := 0; at+plainHeader <= len(b); {
		c, ok := parse(b, at, number)
		if !ok {
			at++
			continue
		}
		at = c.end
		r.synced = max(r.synced, c.synced)
		if c.role != whole && c.role != first {
			continue
		}
		r.batches++
		if number == 0 {
			r.synced = math.MaxInt64 // a MANIFEST is synced after each record, so everything before this record was
		}
	}
}
