package segment

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"sort"

	"github.com/vitrine-dev/vitrine/server/query"
)

// The terms of all fields are in one sorted dictionary. A key begins with the number of the field as four big-endian bytes, so that the
// keys of a field are consecutive. A shorter encoding of this number would save little: only the first key of a block stores the whole
// number, because a key does not store the bytes that it shares with the previous key. A block has termsPerBlock keys. Only the first key
// of a block can be looked up directly.
//
//	block   varint          distance from the beginning of the block's postings to the block
//	        varint          number of bytes of the block's suffix, with which all its keys end
//	        for each term:
//	          varint shared number of bytes that the key shares with the previous key; absent for the first key
//	          varint rest   number of bytes in the rest of the key, without the block's suffix; absent for the first key
//	          bytes         these bytes; absent for the first key
//	          varint docs   number of documents
//	          varint doc    only if there is exactly one document: the distance (zigzag) from the only document of the previous such term in
//	                        the block, or from document 0
//	          varint at     offset of the term's postings from the beginning of the block's postings; absent if a term of a
//	                        field other than a text field has only one document
//	blocks  uint32          number of blocks
//	        uint64s         offset of each block (from the end of the first magic)
//	        uint32s         end of the first key of each block
//	        bytes           the first keys
//
// The suffix saves space because URLs often end with the same bytes. The distance saves space because neighboring keys, such as IDs in URLs,
// often belong to neighboring documents: both follow the time of creation.
//
// The format of the postings is in postings.go.
const termsPerBlock = 32

// fieldKey is the length of the field number in a key.
const fieldKey = 4

// dictionary finds terms in a segment.
type dictionary struct {
	s       *Segment
	n       int // number of blocks
	offsets []byte
	ends    []byte
	keys    []byte
}

func openDictionary(s *Segment) (dictionary, error) {
	b, ok := s.bytes(s.dir.Blocks)
	if !ok || len(b) < 4 {
		return dictionary{}, &CorruptError{Section: "blocks", Reason: "its position or length is wrong"}
	}
	n := int(binary.LittleEndian.Uint32(b))
	b = b[4:]
	if n < 0 || len(b) < 12*n || n != (int(s.dir.Terms)+termsPerBlock-1)/termsPerBlock {
		return dictionary{}, &CorruptError{Section: "blocks", Reason: "the number of blocks is wrong"}
	}
	d := dictionary{s: s, n: n, offsets: b[:8*n], ends: b[8*n : 12*n], keys: b[12*n:]}
	last := uint32(0)
	for i := range n {
		end := binary.LittleEndian.Uint32(d.ends[4*i:])
		if end < last || int64(end) > int64(len(d.keys)) {
			return dictionary{}, &CorruptError{Section: "blocks", Reason: fmt.Sprintf("the key of block %d is outside the section", i)}
		}
		last = end
	}
	return d, nil
}

func (d *dictionary) first(block int) []byte {
	from := uint32(0)
	if block > 0 {
		from = binary.LittleEndian.Uint32(d.ends[4*(block-1):])
	}
	return d.keys[from:binary.LittleEndian.Uint32(d.ends[4*block:])]
}

// blockOf returns the only block that can contain a key of a field with terms: the last of the field's blocks whose first key is not
// greater than key, or the first of these blocks.
func (d *dictionary) blockOf(f *Field, key []byte) int {
	from, to := f.blocks()
	first, end := 0, to-from // the number of blocks to skip after from is in this range
	if f.entry.Type == query.Text && to-from >= prefixedBlocks {
		prefixes, prefix := f.blockPrefixes(), prefixOf(key[fieldKey:])
		for n := end; n > 0; { // without a function call for each step, because this is the inner loop of many short queries
			half := n / 2
			if prefixes[first+half] < prefix {
				first, n = first+half+1, n-half-1
			} else {
				n = half
			}
		}
		if first == end || prefixes[first] > prefix {
			return from + first
		}
	}
	return from + first + sort.Search(end-first, func(i int) bool { return bytes.Compare(d.first(from+1+first+i), key) > 0 })
}

// A lookup of a term in a large dictionary takes most of its time to wait for the memory of the first keys of blocks. Therefore, a text field
// with at least prefixedBlocks blocks has a table of the first bytes of these keys, which is small enough for the caches of a processor. Words
// usually differ in their first bytes, unlike the URLs of other fields.
const prefixedBlocks = 16

// prefixOf returns the first eight bytes of a term, so that the order of prefixes is the order of terms that have different prefixes.
func prefixOf(term []byte) uint64 {
	var b [8]byte
	copy(b[:], term)
	return binary.BigEndian.Uint64(b[:])
}

// blocks returns the first and the last block that contain terms of a field with terms.
func (f *Field) blocks() (from, to int) {
	return int(f.entry.First) / termsPerBlock, int(f.entry.End-1) / termsPerBlock
}

// blockPrefixes returns the prefix of the first key of each block of the field, except for the first block, which can begin with terms of
// other fields.
func (f *Field) blockPrefixes() []uint64 {
	if known := f.prefixes.Load(); known != nil {
		return *known
	}
	from, to := f.blocks()
	made := make([]uint64, to-from)
	for i := range made {
		first := f.s.dict.first(from + 1 + i)
		made[i] = prefixOf(first[min(fieldKey, len(first)):]) // in a damaged file, the key can be too short
	}
	f.prefixes.Store(&made)
	return made
}

// walker iterates over the terms of a dictionary in order.
type walker struct {
	d     *dictionary
	block int    // the current block
	left  int    // number of terms after the current one in the block
	first bool   // whether the next term is the first of the block
	rest  []byte // the bytes of the remaining terms
	begin uint64 // where the postings of the block begin
	// suffix is the block's suffix. lone is the document of the latest term that has only one document.
	suffix []byte
	lone   uint32
	// key is the current key. shared is the length of the prefix that it shares with the previous key.
	key    []byte
	shared int
	text   bool // whether the current term belongs to a text field
	docs   int
	doc    uint32
	at     uint64
}

// open moves the walker to the place before the first term of a block.
func (w *walker) open(block int) bool {
	w.block, w.left, w.rest = block, 0, nil
	if block >= w.d.n {
		return false
	}
	at := binary.LittleEndian.Uint64(w.d.offsets[8*block:])
	end := w.d.s.dir.Blocks.Off
	if at > end {
		return false
	}
	rest, ok := w.d.s.bytes(span{at, end - at})
	if !ok {
		return false
	}
	back, suffix, rest, ok := uvarints(rest)
	first := w.d.first(block)
	if !ok || back > at || suffix > uint64(len(first)) {
		return false
	}
	w.begin, w.rest, w.first, w.lone = at-back, rest, true, 0
	w.suffix = first[len(first)-int(suffix):]
	w.left = min(termsPerBlock, int(w.d.s.dir.Terms)-block*termsPerBlock)
	w.key = w.key[:0]
	return true
}

// next moves to the next term. It returns false at the end.
func (w *walker) next() bool {
	if w.left == 0 && !w.open(w.block+1) {
		return false
	}
	w.left--
	b := w.rest
	if w.first {
		w.first, w.shared = false, 0
		w.key = append(w.key, w.d.first(w.block)...)
	} else {
		shared, length, after, ok := uvarints(b)
		if !ok || shared > uint64(len(w.key)) || length > uint64(len(after)) {
			return w.broken()
		}
		w.key = append(append(w.key[:shared], after[:length]...), w.suffix...)
		w.shared, b = int(shared), after[length:]
	}
	if len(w.key) < fieldKey {
		return w.broken()
	}
	if w.shared < fieldKey {
		w.text = w.d.s.isText(w.field())
	}
	return w.value(b)
}

// value reads the bytes after the key of a term.
func (w *walker) value(b []byte) bool {
	docs, value, b, ok := uvarints(b)
	if !ok || docs == 0 || docs > uint64(w.d.s.dir.Docs) {
		return w.broken()
	}
	w.docs, w.doc, w.at = int(docs), 0, 0
	if docs > 1 {
		w.at = w.begin + value
	} else {
		w.lone += uint32(zigzag(value))
		if w.doc = w.lone; uint64(w.doc) >= uint64(w.d.s.dir.Docs) {
			return w.broken()
		}
		if w.text {
			at, after, ok := uvarint(b)
			if !ok {
				return w.broken()
			}
			w.at, b = w.begin+at, after
		}
	}
	w.rest = b
	return true
}

// move moves to the n-th term of the dictionary, counted from 0. If that term is in the current block, it must not come before the
// current term. If there is no such term, move returns false.
func (w *walker) move(n int) bool {
	if n/termsPerBlock != w.block && !w.open(n/termsPerBlock) {
		return false
	}
	for w.number() < n {
		if !w.next() {
			return false
		}
	}
	return true
}

// number returns the number of the current term in the dictionary. After open, the result is one less than the number of the first term
// of the block.
func (w *walker) number() int {
	inBlock := min(termsPerBlock, int(w.d.s.dir.Terms)-w.block*termsPerBlock)
	return w.block*termsPerBlock + inBlock - w.left - 1
}

// broken ends the iteration at invalid bytes. Such bytes can occur even if the checksums of the file are correct.
func (w *walker) broken() bool {
	w.left, w.block = 0, w.d.n
	return false
}

// field returns the field number of the current term.
func (w *walker) field() int { return int(binary.BigEndian.Uint32(w.key)) }

// skip moves to the next term of the block that it cannot skip. It skips a term if the term shares more than `most` bytes with the term
// before it, or if it shares exactly `most` bytes and its next byte, before the suffix of the block, is less than below. It does not build
// the keys of these terms, so they must belong to the field of the current term: most must be at least fieldKey-1, and if it is fieldKey-1,
// below must be 0. skip returns false at the end of the block and at invalid bytes (see over).
func (w *walker) skip(most int, below byte) bool {
	for w.left > 0 {
		shared, length, after, ok := uvarints(w.rest)
		if !ok || length > uint64(len(after)) {
			return w.broken()
		}
		if shared < uint64(most) || shared == uint64(most) && (length == 0 || after[0] >= below) {
			return w.next()
		}
		w.left--
		if !w.skipValue(after[length:]) {
			return false
		}
	}
	return false
}

// skipValue moves past the bytes that value reads. Of the fields that value sets, it sets only rest and lone, and it does not check them.
// The lengths of the varints are hard to predict, so it finds their ends in a word of eight bytes, without a loop. If the varints can be
// longer, it calls value.
func (w *walker) skipValue(b []byte) bool {
	if len(b) < 8 {
		return w.value(b)
	}
	x := binary.LittleEndian.Uint64(b)
	docs := x & 0xff
	ends := ^x & 0x8080808080808080 // the highest bit of the last byte of each varint
	fromSecond := ends & (ends - 1) // without the end of the first varint
	last := fromSecond
	if fromThird := fromSecond & (fromSecond - 1); w.text && docs == 1 {
		last = fromThird
	}
	if docs == 0 || docs >= 0x80 || last == 0 {
		return w.value(b)
	}
	toSecond := fromSecond ^ (fromSecond - 1) // all bits up to the end of the second varint
	distance := uint32(zigzag(sevens((x & toSecond) >> 8)))
	if docs > 1 {
		distance = 0
	}
	w.lone += distance
	w.rest = b[bits.TrailingZeros64(last)/8+1:]
	return true
}

// sevens joins the lower seven bits of each byte, which are the number in a varint of up to eight bytes.
func sevens(x uint64) uint64 {
	x &= 0x7f7f7f7f7f7f7f7f
	x = x&0x007f007f007f007f | x>>1&0x3f803f803f803f80
	x = x&0x00003fff00003fff | x>>2&0x0fffc0000fffc000
	return x&0x0fffffff | x>>4&0x00fffffff0000000
}

// over reports whether the walker is at the end of the dictionary, or at invalid bytes.
func (w *walker) over() bool { return w.block >= w.d.n }

// seek moves to the first term whose key is at least key, which must be a key of f. f must have terms. seek returns false if there is no
// such term, and at invalid bytes.
func (w *walker) seek(f *Field, key []byte) bool {
	if !w.open(w.d.blockOf(f, key)) || !w.next() {
		return false
	}
	for bytes.Compare(w.key, key) < 0 {
		// The two keys have their first bytes in common, and w.key then ends or has a smaller byte. A later term is also less than key if it
		// shares more bytes with the term before it, or if it shares as many and its next byte is smaller than that of key.
		most, below := commonPrefix(w.key, key), byte(0)
		if most < fieldKey {
			most = fieldKey - 1 // skip only the terms of the current field, which comes before f
		} else {
			below = key[most]
		}
		if !w.skip(most, below) {
			return w.next()
		}
	}
	return true
}

// postings returns the postings of the current term.
func (w *walker) postings() Postings {
	return Postings{s: w.d.s, docs: w.docs, doc: w.doc, at: w.at, text: w.text}
}

// dictionaryWriter writes a dictionary. The caller adds the terms in order.
type dictionaryWriter struct {
	out     *checksumWriter
	field   int    // the current field
	begin   uint64 // where the postings of the current block begin
	block   []blockTerm
	text    []byte // the bytes of the terms of the current block, one after the other
	suffix  int    // the length of the block's suffix
	encoded []byte // a buffer
	terms   uint64
	offsets []uint64
	ends    []uint32
	keys    []byte
}

// blockTerm is a term of the current block.
type blockTerm struct {
	field    int
	from, to int // range in dictionaryWriter.text
	shared   int // the number of bytes that the key shares with the previous key; 0 for the first key
	docs     int
	doc      uint32 // the document, if there is only one
	written  bool   // whether the term has postings, which begin at the offset at
	at       uint64
}

// add adds a term of the current field. shared is the length of the prefix that the term shares with the previous term of the field. If
// written is true, the term's postings were written at the offset at.
func (w *dictionaryWriter) add(text []byte, shared int, list postingList, written bool, at uint64) {
	from := len(w.text)
	w.text = append(w.text, text...)
	t := blockTerm{field: w.field, from: from, to: len(w.text), docs: len(list.docs), doc: list.docs[0], written: written, at: at}
	if len(w.block) == 0 {
		w.suffix = len(text)
	} else {
		last := &w.block[len(w.block)-1]
		if t.shared = fieldKey + shared; last.field != t.field {
			// The term is the first term of its field. Its key shares only leading bytes of the field number with the previous key. These are
			// the leading bytes that are zero in the XOR of the two numbers.
			t.shared = bits.LeadingZeros32(uint32(last.field^t.field)) / 8
		}
		// The suffix must not overlap with the shared bytes.
		w.suffix = min(w.suffix, fieldKey+len(text)-max(t.shared, fieldKey))
		w.suffix = commonSuffix(w.text[last.from:last.to], text, w.suffix)
	}
	w.block = append(w.block, t)
	w.terms++
	if len(w.block) == termsPerBlock {
		w.flush()
	}
}

// place returns the offset at which the postings of the next term begin.
func (w *dictionaryWriter) place() uint64 {
	if len(w.block) == 0 {
		w.begin = w.out.off
	}
	return w.out.off
}

// flush writes the current block.
func (w *dictionaryWriter) flush() {
	if len(w.block) == 0 {
		return
	}
	b := binary.AppendUvarint(w.encoded[:0], w.out.off-w.begin)
	b = binary.AppendUvarint(b, uint64(w.suffix))
	lone := uint32(0)
	for i, t := range w.block {
		var field [fieldKey]byte
		binary.BigEndian.PutUint32(field[:], uint32(t.field))
		text := w.text[t.from:t.to]
		if i == 0 {
			w.keys = append(append(w.keys, field[:]...), text...)
			w.ends = append(w.ends, uint32(len(w.keys)))
		} else {
			number := field[min(t.shared, fieldKey):]
			text = text[max(t.shared-fieldKey, 0) : len(text)-w.suffix]
			b = binary.AppendUvarint(b, uint64(t.shared))
			b = binary.AppendUvarint(b, uint64(len(number)+len(text)))
			b = append(append(b, number...), text...)
		}
		b = binary.AppendUvarint(b, uint64(t.docs))
		if t.docs == 1 {
			b = binary.AppendVarint(b, int64(int32(t.doc-lone)))
			lone = t.doc
		}
		if t.written {
			b = binary.AppendUvarint(b, t.at-w.begin)
		}
	}
	w.offsets = append(w.offsets, w.out.off)
	w.out.write(b)
	w.encoded, w.block, w.text = b, w.block[:0], w.text[:0]
}

// finish writes the last block and the section `blocks`.
func (w *dictionaryWriter) finish() (span, error) {
	w.flush()
	if err := fits("terms", w.terms); err != nil {
		return span{}, err
	}
	if err := fits("bytes for the first keys of its blocks", uint64(len(w.keys))); err != nil {
		return span{}, err
	}
	from := w.out.off
	w.out.uint32(uint32(len(w.offsets)))
	for _, o := range w.offsets {
		w.out.uint64(o)
	}
	for _, e := range w.ends {
		w.out.uint32(e)
	}
	w.out.write(w.keys)
	return span{from, w.out.off - from}, nil
}

// commonPrefix returns the length of the common prefix of two texts.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// commonSuffix returns the length of the common suffix of two texts, or `most` if it is longer.
func commonSuffix(a, b []byte, most int) int {
	most = min(most, len(a), len(b))
	n := 0
	for n < most && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// zigzag returns the signed number that a varint of encoding/binary holds.
func zigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

// uvarint reads a varint and returns the bytes after it.
func uvarint(b []byte) (n uint64, rest []byte, ok bool) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:], true
	}
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, false
	}
	return n, b[size:], true
}

// uvarints reads two varints and returns the bytes after them. It has a fast path for the most frequent case, two varints of one byte
// each, because the compiler does not inline uvarint.
func uvarints(b []byte) (m, n uint64, rest []byte, ok bool) {
	if len(b) > 1 && b[0]|b[1] < 0x80 {
		return uint64(b[0]), uint64(b[1]), b[2:], true
	}
	m, rest, ok1 := uvarint(b)
	n, rest, ok2 := uvarint(rest)
	return m, n, rest, ok1 && ok2
}
