package segment

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/query"
)

// sparseBelow defines which columns are sparse: those with values in fewer than 1/sparseBelow of all documents. A sparse column stores
// numbers only for the documents with a value.
const sparseBelow = 4

// writeColumn writes the numbers of the documents in present. If present is nil, it writes those of all documents. The slice `all` has a
// number for every document. The number is 0 if the document has no value.
func writeColumn(out *checksumWriter, present *roaring.Bitmap, all []int64) column {
	var c column
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	if present == nil {
		for _, n := range all {
			lo, hi = min(lo, n), max(hi, n)
		}
	} else {
		c.Sparse = present.GetCardinality()*sparseBelow < uint64(len(all))
		var sparse []int64
		for it := present.Iterator(); it.HasNext(); {
			n := all[it.Next()]
			lo, hi = min(lo, n), max(hi, n)
			if c.Sparse {
				sparse = append(sparse, n)
			}
		}
		if c.Sparse {
			all = sparse
		}
	}
	if c.Base = lo; lo == hi {
		return c
	}
	c.Width = widthOf(uint64(hi) - uint64(lo))
	// The entry of a document without a value holds the low bytes of 0-lo. Readers ignore it.
	c.span = out.section(func() {
		for chunk := range slices.Chunk(all, columnChunk) {
			b := out.buf
			switch c.Width {
			case 1:
				for _, n := range chunk {
					b = append(b, byte(uint64(n)-uint64(lo)))
				}
			case 2:
				for _, n := range chunk {
					b = binary.LittleEndian.AppendUint16(b, uint16(uint64(n)-uint64(lo)))
				}
			case 4:
				for _, n := range chunk {
					b = binary.LittleEndian.AppendUint32(b, uint32(uint64(n)-uint64(lo)))
				}
			default:
				for _, n := range chunk {
					b = binary.LittleEndian.AppendUint64(b, uint64(n)-uint64(lo))
				}
			}
			out.buf = b
			out.wrote(c.Width * len(chunk))
		}
	})
	return c
}

// widthOf returns the number of bytes per number that a column needs for numbers up to most.
func widthOf(most uint64) int {
	switch {
	case most < 1<<8:
		return 1
	case most < 1<<16:
		return 2
	case most < 1<<32:
		return 4
	}
	return 8
}

// columnChunk is the number of column entries that are appended to the buffer before the next check whether to flush it.
const columnChunk = 8 << 10

// numbers is a column that is read in place.
type numbers struct {
	column
	b []byte
	// sliced is built on the first range query.
	sliced atomic.Pointer[bitSlices]
}

// slices returns the bit slices of the column, or nil if scanning the column is better.
func (n *numbers) slices(count int) *bitSlices {
	if n.Width > sliceWidth || count < sliceFrom {
		return nil
	}
	if s := n.sliced.Load(); s != nil {
		return s
	}
	s := newSlices(n, count)
	n.sliced.Store(s)
	return s
}

// at returns the i-th number of the column.
func (n *numbers) at(i int) int64 {
	switch n.Width {
	case 0:
		return n.Base
	case 1:
		return n.Base + int64(n.b[i])
	case 2:
		return n.Base + int64(binary.LittleEndian.Uint16(n.b[2*i:]))
	case 4:
		return n.Base + int64(binary.LittleEndian.Uint32(n.b[4*i:]))
	}
	return int64(uint64(n.Base) + binary.LittleEndian.Uint64(n.b[8*i:]))
}

// scanRange returns the positions of the numbers from lo to hi in the column, as a bitmap of 64-bit words. count is the length of the
// column.
func (n *numbers) scanRange(count int, lo, hi int64) []uint64 {
	words := make([]uint64, (count+63)/64)
	if lo > hi || hi < n.Base {
		return words
	}
	// From here on, all numbers are relative to the base, and therefore unsigned.
	from, to := uint64(0), uint64(hi)-uint64(n.Base)
	if lo > n.Base {
		from = uint64(lo) - uint64(n.Base)
	}
	greatest := uint64(math.MaxUint64) >> (64 - 8*n.Width)
	switch {
	case from > greatest:
		return words
	case from == 0 && to >= greatest:
		fill(words, count)
		return words
	}
	if s := n.slices(count); s != nil {
		return s.find(count, from, to)
	}
	n.scanWords(words, count, from, min(to, greatest)-from)
	return words
}

// scanWords sets the bits of the positions of the numbers from base+from to base+from+length. One unsigned comparison checks both bounds.
// The loops have no branches on numbers, because the processor would often mispredict them.
func (n *numbers) scanWords(words []uint64, count int, from, length uint64) {
	whole := count / 64
	switch n.Width {
	case 1:
		for i := range words[:whole] {
			b, outside := (*[64]byte)(n.b[64*i:]), uint64(0)
			for j := 63; j >= 0; j-- {
				_, above := bits.Sub64(length, uint64(b[j]-byte(from)), 0)
				outside, _ = bits.Add64(outside, outside, above)
			}
			words[i] = ^outside
		}
	case 2:
		for i := range words[:whole] {
			b, outside := (*[128]byte)(n.b[128*i:]), uint64(0)
			for j := 126; j >= 0; j -= 2 {
				_, above := bits.Sub64(length, uint64(binary.LittleEndian.Uint16(b[j:j+2])-uint16(from)), 0)
				outside, _ = bits.Add64(outside, outside, above)
			}
			words[i] = ^outside
		}
	case 4:
		for i := range words[:whole] {
			b, outside := (*[256]byte)(n.b[256*i:]), uint64(0)
			for j := 252; j >= 0; j -= 4 {
				_, above := bits.Sub64(length, uint64(binary.LittleEndian.Uint32(b[j:j+4])-uint32(from)), 0)
				outside, _ = bits.Add64(outside, outside, above)
			}
			words[i] = ^outside
		}
	case 8:
		for i := range words[:whole] {
			b, outside := (*[512]byte)(n.b[512*i:]), uint64(0)
			for j := 504; j >= 0; j -= 8 {
				_, above := bits.Sub64(length, binary.LittleEndian.Uint64(b[j:j+8])-from, 0)
				outside, _ = bits.Add64(outside, outside, above)
			}
			words[i] = ^outside
		}
	}
	for i := 64 * whole; i < count; i++ {
		if uint64(n.at(i))-uint64(n.Base)-from <= length {
			words[whole] |= 1 << (i % 64)
		}
	}
}

// scanFloats is like scanRange, for a column of floating-point numbers. It compares the bits of the numbers as integers. The integers of
// positive numbers are positive and have the same order as the numbers. The integers of negative numbers are negative and have the reverse
// order. 0 and -0 have different bits. For these reasons, scanFloats scans for positive and for negative numbers separately.
func (n *numbers) scanFloats(count int, lo, hi float64) []uint64 {
	var words []uint64
	if lo <= hi && hi >= 0 {
		words = n.scanRange(count, int64(math.Float64bits(max(lo, 0))), int64(math.Float64bits(max(hi, 0))))
	}
	if lo <= hi && lo <= 0 {
		zero := math.Copysign(0, -1)
		below := n.scanRange(count, int64(math.Float64bits(min(hi, zero))), int64(math.Float64bits(min(lo, zero))))
		for i, word := range words {
			below[i] |= word
		}
		words = below
	}
	if words == nil { // lo > hi, lo is NaN, or hi is NaN
		words = make([]uint64, (count+63)/64)
	}
	return words
}

func fill(words []uint64, count int) {
	for i := range words {
		words[i] = math.MaxUint64
	}
	if rest := count % 64; rest > 0 {
		words[len(words)-1] = 1<<rest - 1
	}
}

// isNumber reports whether values of a type are stored in a column. Booleans are stored as terms.
func isNumber(t query.Type) bool { return t == query.Long || t == query.Date || t == query.Double }

// hasColumn reports whether fields of a type have a column. The column of a text field holds the number of words in each document.
func hasColumn(t query.Type) bool { return isNumber(t) || t == query.Text }
