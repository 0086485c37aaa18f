package segment

import (
	"encoding/binary"
	"maps"
	"math"
	"math/bits"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/query"
)

// sparseBelow defines which columns are sparse: those with values in fewer than 1/sparseBelow of all documents. A sparse column stores
// numbers only for the documents with a value.
const sparseBelow = 4

// tableMost is the maximum number of entries of a column's table.
const tableMost = 1 << 8

// writeColumn writes the numbers of the documents in present. If present is nil, it writes those of all documents. The slice `all` has a
// number for every document. The number is 0 if the document has no value.
func writeColumn(out *checksumWriter, present *roaring.Bitmap, all []int64) column {
	c := column{Scale: 1}
	some := all
	if present != nil {
		some = make([]int64, 0, present.GetCardinality())
		for it := present.Iterator(); it.HasNext(); {
			some = append(some, all[it.Next()])
		}
		if c.Sparse = len(some)*sparseBelow < len(all); c.Sparse {
			all = some
		}
	}
	if len(some) == 0 {
		return c
	}
	c.Base = slices.Min(some)
	most := uint64(slices.Max(some)) - uint64(c.Base)
	if most == 0 {
		return c
	}
	c.Scale = commonDivisor(some, c.Base)
	c.Width = widthOf(most / c.Scale)
	table := newTable(some, (c.Width-1)*len(all))
	// The entry of a document without a value is arbitrary. Readers ignore it. Without a scale, no division is necessary, which is slow.
	encode := func(n int64) uint64 { return (uint64(n) - uint64(c.Base)) / c.Scale }
	switch {
	case table != nil:
		c.Table, c.Width, c.Base, c.Scale = len(table), 1, 0, 1
		encode = func(n int64) uint64 { i, _ := slices.BinarySearch(table, n); return uint64(i) }
	case c.Scale == 1:
		encode = func(n int64) uint64 { return uint64(n) - uint64(c.Base) }
	}
	c.span = out.section(func() {
		for _, n := range table {
			out.uint64(uint64(n))
		}
		for chunk := range slices.Chunk(all, columnChunk) {
			out.buf = appendChunk(out.buf, chunk, c.Width, encode)
			out.wrote(c.Width * len(chunk))
		}
	})
	return c
}

// appendChunk appends the encoded numbers, each with the given number of bytes.
func appendChunk(b []byte, chunk []int64, width int, encode func(int64) uint64) []byte {
	switch width {
	case 1:
		for _, n := range chunk {
			b = append(b, byte(encode(n)))
		}
	case 2:
		for _, n := range chunk {
			b = binary.LittleEndian.AppendUint16(b, uint16(encode(n)))
		}
	case 4:
		for _, n := range chunk {
			b = binary.LittleEndian.AppendUint32(b, uint32(encode(n)))
		}
	default:
		for _, n := range chunk {
			b = binary.LittleEndian.AppendUint64(b, encode(n))
		}
	}
	return b
}

// commonDivisor returns the greatest common divisor of the distances of the numbers from the base. At least one distance must not be 0.
func commonDivisor(numbers []int64, base int64) uint64 {
	divisor := uint64(0)
	for _, n := range numbers {
		rest := uint64(n) - uint64(base)
		if divisor > 0 {
			rest %= divisor
		}
		for rest > 0 {
			divisor, rest = rest, divisor%rest
		}
		if divisor == 1 {
			break
		}
	}
	return divisor
}

// newTable returns the distinct numbers in ascending order. It returns nil if there are too many for a table, or if the table takes at least
// as many bytes as it saves.
func newTable(numbers []int64, saved int) []int64 {
	if saved == 0 {
		return nil
	}
	known := map[int64]bool{}
	for _, n := range numbers {
		if known[n] = true; len(known) > tableMost {
			return nil
		}
	}
	if 8*len(known) >= saved {
		return nil
	}
	return slices.Sorted(maps.Keys(known))
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
	// b holds the stored numbers, and table holds the table.
	b, table []byte
	// sliced is built on the first range query.
	sliced atomic.Pointer[bitSlices]
}

// open sets the column to a column of the segment with the given number of entries. It returns false if the description of the column is
// wrong.
func (n *numbers) open(s *Segment, c column, count int) bool {
	b, ok := s.bytes(c.span)
	table := 8 * c.Table
	if !ok || !slices.Contains([]int{0, 1, 2, 4, 8}, c.Width) || c.Table > tableMost || c.Scale == 0 || len(b) != table+count*c.Width {
		return false
	}
	n.column, n.table, n.b = c, b[:table:table], b[table:]
	return true
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
func (n *numbers) at(i int) int64 { return n.number(n.stored(i)) }

// stored returns the i-th stored number.
func (n *numbers) stored(i int) uint64 {
	switch n.Width {
	case 0:
		return 0
	case 1:
		return uint64(n.b[i])
	case 2:
		return uint64(binary.LittleEndian.Uint16(n.b[2*i:]))
	case 4:
		return uint64(binary.LittleEndian.Uint32(n.b[4*i:]))
	}
	return binary.LittleEndian.Uint64(n.b[8*i:])
}

// number returns the number for which `stored` is stored.
func (n *numbers) number(stored uint64) int64 {
	if n.Table == 0 {
		return int64(uint64(n.Base) + n.Scale*stored)
	}
	// An index in a damaged file can be too high.
	return int64(binary.LittleEndian.Uint64(n.table[8*min(stored, uint64(n.Table-1)):]))
}

// scanRange returns the positions of the numbers from lo to hi in the column, as a bitmap of 64-bit words. count is the length of the
// column.
func (n *numbers) scanRange(count int, lo, hi int64) []uint64 {
	words := make([]uint64, (count+63)/64)
	from, to, ok := n.storedRange(lo, hi)
	if !ok {
		return words
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

// storedRange returns the range of the stored numbers that stand for the numbers from lo to hi. It returns false if there are none. The
// stored numbers have the same order as the numbers.
func (n *numbers) storedRange(lo, hi int64) (from, to uint64, ok bool) {
	if n.Table > 0 {
		from = uint64(sort.Search(n.Table, func(i int) bool { return n.number(uint64(i)) >= lo }))
		to = uint64(sort.Search(n.Table, func(i int) bool { return n.number(uint64(i)) > hi }))
		return from, to - 1, from < to
	}
	if lo > hi || hi < n.Base {
		return 0, 0, false
	}
	if lo > n.Base {
		distance := uint64(lo) - uint64(n.Base)
		if from = distance / n.Scale; distance%n.Scale > 0 {
			from++
		}
	}
	to = (uint64(hi) - uint64(n.Base)) / n.Scale
	return from, to, from <= to
}

// scanWords sets the bits of the positions of the stored numbers from `from` to from+length. One unsigned comparison checks both bounds.
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
		if n.stored(i)-from <= length {
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
