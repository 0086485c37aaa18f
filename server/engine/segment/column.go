package segment

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/query"
)

// sparseBelow is the share of documents, one in so many, below which a column holds numbers of present documents alone.
const sparseBelow = 4

// writeColumn writes the numbers of the documents that present names, nil for all. all has one for each document there is, 0
// for those without.
func writeColumn(out *output, present *roaring.Bitmap, all []int64) column {
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
	switch width := uint64(hi) - uint64(lo); {
	case width < 1<<8:
		c.Width = 1
	case width < 1<<16:
		c.Width = 2
	case width < 1<<32:
		c.Width = 4
	default:
		c.Width = 8
	}
	// What a document does not have may be anything: its low bytes stand there.
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

// columnChunk is how many numbers are put down between two looks at whether there is enough to be written.
const columnChunk = 8 << 10

// numbers reads a column.
type numbers struct {
	column
	b []byte
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

// scan returns, as a bitmap of 64-bit words, the places of the column whose number is in.
func (n *numbers) scan(count int, in func(int64) bool) []uint64 {
	words := make([]uint64, (count+63)/64)
	for i := range count {
		if in(n.at(i)) {
			words[i/64] |= 1 << (i % 64)
		}
	}
	return words
}

// scanRange is scan for lo to hi, compared as they lie there.
func (n *numbers) scanRange(count int, lo, hi int64) []uint64 {
	words := make([]uint64, (count+63)/64)
	if n.Width == 0 {
		if lo <= n.Base && n.Base <= hi {
			fill(words, count)
		}
		return words
	}
	if hi < n.Base {
		return words
	}
	// Everything is moved down by the base, where one comparison without sign does for both ends.
	from := uint64(0)
	if lo > n.Base {
		from = uint64(lo) - uint64(n.Base)
	}
	length := uint64(hi) - uint64(n.Base) - from
	if lo > hi {
		return words
	}
	switch n.Width {
	case 1:
		for i := range count {
			if uint64(n.b[i])-from <= length {
				words[i/64] |= 1 << (i % 64)
			}
		}
	case 2:
		for i := range count {
			if uint64(binary.LittleEndian.Uint16(n.b[2*i:]))-from <= length {
				words[i/64] |= 1 << (i % 64)
			}
		}
	case 4:
		for i := range count {
			if uint64(binary.LittleEndian.Uint32(n.b[4*i:]))-from <= length {
				words[i/64] |= 1 << (i % 64)
			}
		}
	default:
		for i := range count {
			if binary.LittleEndian.Uint64(n.b[8*i:])-from <= length {
				words[i/64] |= 1 << (i % 64)
			}
		}
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

// isNumber reports whether values of a type lie in a column; booleans are terms.
func isNumber(t query.Type) bool { return t == query.Long || t == query.Date || t == query.Double }

// hasColumn reports whether documents have a number in a field of a type: their value, or how many words they have.
func hasColumn(t query.Type) bool { return isNumber(t) || t == query.Text }
