package segment

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

// checksumWriter buffers the bytes of a segment, writes them to w, and computes their checksum. If w is nil, all bytes stay in buf, and
// no checksum is computed. After an error, checksumWriter writes nothing.
type checksumWriter struct {
	w   io.Writer
	buf []byte
	off uint64
	sum uint32
	err error
}

// flushAt is the size at which the buffer is flushed.
const flushAt = 1 << 20

func (o *checksumWriter) write(b []byte) {
	o.buf = append(o.buf, b...)
	o.wrote(len(b))
}

func (o *checksumWriter) wrote(n int) {
	o.off += uint64(n)
	if o.w != nil && len(o.buf) >= flushAt {
		o.flush()
	}
}

// flush writes the buffered bytes.
func (o *checksumWriter) flush() {
	if o.w == nil {
		return
	}
	if o.err == nil {
		o.sum = crc32.Update(o.sum, castagnoli, o.buf)
		_, o.err = o.w.Write(o.buf)
	}
	o.buf = o.buf[:0]
}

// take returns the checksum of all bytes written since the last call.
func (o *checksumWriter) take() uint32 {
	o.flush()
	sum := o.sum
	o.sum = 0
	return sum
}

func (o *checksumWriter) uint32(n uint32) {
	o.buf = binary.LittleEndian.AppendUint32(o.buf, n)
	o.wrote(4)
}

func (o *checksumWriter) uint64(n uint64) {
	o.buf = binary.LittleEndian.AppendUint64(o.buf, n)
	o.wrote(8)
}

func (o *checksumWriter) uvarint(n uint64) {
	before := len(o.buf)
	o.buf = binary.AppendUvarint(o.buf, n)
	o.wrote(len(o.buf) - before)
}

// section calls write, which writes one section, and returns the span of the section.
func (o *checksumWriter) section(write func()) span {
	from := o.off
	write()
	return span{from, o.off - from}
}
