package segment

import (
	"encoding/binary"
	"math"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/query"
)

// sparseBelow is the share of documents, one in so many, below which a column holds numbers of present documents alone.
const sparseBelow = 4

// writeColumn writes one number for each of the documents that present names, nil for all; docs is the number of all
// documents, and number is asked in their order.
func writeColumn(out *output, docs int, present *roaring.Bitmap, number func(doc uint32) int64) column {
	var c column
	each := func(f func(int64)) {
		if !c.Sparse {
			for d := range uint32(docs) {
				f(number(d))
			}
			return
		}
		it := present.Iterator()
		for it.HasNext() {
			f(number(it.Next()))
		}
	}
	c.Sparse = present != nil && present.GetCardinality()*sparseBelow < uint64(docs)
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for d := range uint32(docs) {
		if present == nil || present.Contains(d) {
			n := number(d)
			lo, hi = min(lo, n), max(hi, n)
		}
	}
	switch width := uint64(hi) - uint64(lo); {
	case lo >= hi:
		lo, c.Width = min(lo, hi), 0
		if lo == math.MinInt64 && hi == math.MinInt64 && docs == 0 {
			lo = 0
		}
	case width < 1<<8:
		c.Width = 1
	case width < 1<<16:
		c.Width = 2
	case width < 1<<32:
		c.Width = 4
	default:
		c.Width = 8
	}
	c.Base = lo
	if c.Width == 0 {
		c.Base = hi
		return c
	}
	c.span = out.section(func() {
		each(func(n int64) {
			// What a document does not have may be anything: its low bytes stand there.
			d := uint64(n) - uint64(lo)
			switch c.Width {
			case 1:
				out.buf = append(out.buf, byte(d))
			case 2:
				out.buf = binary.LittleEndian.AppendUint16(out.buf, uint16(d))
			case 4:
				out.buf = binary.LittleEndian.AppendUint32(out.buf, uint32(d))
			default:
				out.buf = binary.LittleEndian.AppendUint64(out.buf, d)
			}
			out.wrote(c.Width)
		})
	})
	return c
}

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
