package search

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Frequent terms are converted to plain bits (one bit for each document) and combined word by word. A compressed bitmap stores such a term
// as lists of several thousand documents, one list per block of 65,536 documents. Processing one document of a list costs as much as
// processing a word with the bits of 64 documents.
//
// A term is frequent if at least 1/frequentShare of a segment's documents have it. Its plain bits then take at most 8 times the memory of
// its list. Terms in segments of fewer than frequentDocs documents do not count as frequent, because every write can replace these
// segments and their lists are fast to read.
const (
	frequentShare = segment.OutlineShare // a term with an outline is frequent
	frequentDocs  = 1 << 12
)

// frequent is a conjunction in one segment. It is split into the nodes that are evaluated on plain bits and the other nodes.
type frequent struct {
	// in holds the bits of the required nodes. The result of each node is the union of one or more sets. out holds the same for the
	// prohibited nodes.
	in, out [][][]uint64
	// `must` and `not` hold the other nodes.
	must, not []node
}

// frequent splits the nodes of c. It returns nil if a split would not help, because fewer than two nodes have bits, or because a required
// node is cheap (a rare term or a single number), so that it is faster to evaluate first.
func (c *conjunction) frequent(ctx context.Context, e *evaluation) (*frequent, error) {
	if !e.caches() {
		return nil, nil
	}
	var in, out []node
	f := &frequent{}
	for _, n := range c.must {
		switch {
		case e.hasBits(n):
			in = append(in, n)
		case n.price() <= 1:
			return nil, nil
		default:
			f.must = append(f.must, n)
		}
	}
	for _, n := range c.not {
		if e.hasBits(n) {
			out = append(out, n)
		} else {
			f.not = append(f.not, n)
		}
	}
	if len(in) == 0 || len(in)+len(out) < 2 {
		return nil, nil
	}
	for _, n := range in {
		some, err := e.bits(ctx, n)
		if err != nil {
			return nil, err
		}
		f.in = append(f.in, some)
	}
	for _, n := range out {
		some, err := e.bits(ctx, n)
		if err != nil {
			return nil, err
		}
		f.out = append(f.out, some)
	}
	return f, nil
}

// caches reports whether the Cache may keep the plain bits of frequent terms and the documents of numbers of the part.
func (e *evaluation) caches() bool {
	return !e.shown && e.corpus.Cache != nil && e.part.Segment.Len() >= frequentDocs
}

// isFrequent reports whether a term of the part is frequent.
func (e *evaluation) isFrequent(p segment.Postings) bool {
	return p.Len() > 0 && p.Len() >= e.part.Segment.Len()/frequentShare
}

// hasBits reports whether a node can be evaluated on plain bits. Such a node is a frequent term, a range of several numbers in a dense
// column, or a disjunction of terms and such ranges with at least one frequent term or range.
func (e *evaluation) hasBits(n node) bool {
	if d, ok := n.(*disjunction); ok {
		frequent := false
		for _, n := range d.nodes {
			some := e.hasBits(n)
			if _, term := e.term(n); !some && !term {
				return false
			}
			frequent = frequent || some
		}
		return frequent
	}
	if p, ok := e.term(n); ok {
		return e.isFrequent(p)
	}
	return e.column(n) != nil
}

// column returns the field of a node that is a range of several numbers, if only a scan of a dense column can find its documents. A dense
// column has a number for each document. For any other node, column returns nil.
func (e *evaluation) column(n node) *segment.Field {
	l, ok := n.(*leaf)
	if !ok || len(l.members) > 0 || l.kind == ofUnits {
		return nil
	}
	field := e.part.Segment.Field(l.field.Name)
	if field == nil || field.Sparse() {
		return nil
	}
	switch t := l.test.(type) {
	case *intRange:
		if t.inColumn(field) && !t.oneInColumn(field) {
			return field
		}
	case *floatRange:
		if field.Type() == query.Double {
			return field
		}
	}
	return nil
}

// bits returns the plain bits of a node for which hasBits is true. The result of the node is the union of the returned sets, which are
// read-only and valid until release.
func (e *evaluation) bits(ctx context.Context, n node) ([][]uint64, error) {
	if d, ok := n.(*disjunction); ok {
		var all [][]uint64
		var rare []uint64
		for _, n := range d.nodes {
			if e.hasBits(n) {
				some, err := e.bits(ctx, n)
				if err != nil {
					return nil, err
				}
				all = append(all, some...)
				continue
			}
			if rare == nil {
				rare = make([]uint64, (e.part.Segment.Len()+63)/64)
				all = append(all, rare)
			}
			p, _ := e.term(n)
			p.AddTo(rare)
		}
		return all, nil
	}
	l := n.(*leaf)
	field := e.part.Segment.Field(l.field.Name)
	var found []uint64
	var err error
	switch t := l.test.(type) {
	case *words:
		p, _ := e.term(n)
		found, err = e.termBits(ctx, field, t.terms[0], p)
	case *intRange:
		found = field.IntBits(t.lo, t.hi)
	case *floatRange:
		found = field.FloatBits(t.lo, t.hi)
	}
	return [][]uint64{found}, err
}

// termBits returns the plain bits of a frequent term. They are valid until release. If another evaluation recently used the same bits, the
// Cache keeps them. Otherwise, termBits takes memory from the pool of the Cache: most terms are not used again soon, and allocating the
// memory takes longer than setting the bits.
func (e *evaluation) termBits(ctx context.Context, f *segment.Field, term string, p segment.Postings) ([]uint64, error) {
	key := "bits " + strconv.Quote(f.Name()) + term
	n := (e.part.Segment.Len() + 63) / 64
	for _, known := range e.pooled {
		if known.key == key {
			return *known.words, nil
		}
	}
	if e.corpus.of(e.part).noteUse(key) {
		return e.corpus.bits(ctx, e.part, key, func() ([]uint64, error) {
			words := make([]uint64, n)
			segment.WriteBits(p.Bitmap(), words)
			return words, nil
		})
	}
	words := e.corpus.Cache.newBits(n)
	clear(*words)
	segment.WriteBits(p.Bitmap(), *words)
	e.pooled = append(e.pooled, pooledBits{key, words})
	return *words, nil
}

// plainTerms is the maximum number of terms that plain combines. Combining more terms takes longer than reading a view.
const plainTerms = 8

// plain returns the documents of a term, or of a disjunction of a few terms, as plain bits. It returns nil for any other node, if none of
// the terms is frequent, or if caches returns false. The bits cover whole blocks of scores (see denseWords). The caller returns them with
// Cache.putBits.
func (e *evaluation) plain(ctx context.Context, n node) (*[]uint64, error) {
	nodes := []node{n}
	if d, ok := n.(*disjunction); ok {
		nodes = d.nodes
	}
	if len(nodes) > plainTerms || !e.caches() || !e.hasBits(n) || slices.ContainsFunc(nodes, func(n node) bool { return e.column(n) != nil }) {
		return nil, nil
	}
	words := e.corpus.Cache.newBits(denseWords(e.part.Segment.Len()))
	clear(*words)
	for _, n := range nodes {
		p, _ := e.term(n)
		if !e.isFrequent(p) {
			p.AddTo(*words)
			continue
		}
		sets, err := e.bits(ctx, n)
		if err != nil {
			e.corpus.Cache.putBits(words)
			return nil, err
		}
		for i, w := range sets[0] {
			(*words)[i] |= w
		}
	}
	return words, nil
}

// find returns the documents that are in all sets of f.in and in no set of f.out.
func (f *frequent) find(c *Cache) (set, error) {
	words := c.newBits(len(f.in[0][0]))
	defer c.putBits(words)
	return compressed(*words, f.combine)
}

// docs yields the documents that find would return, in ascending order.
func (f *frequent) docs(yield func(doc uint32) bool) {
	var words [blockWords]uint64
	for from := 0; from < len(f.in[0][0]); from += blockWords {
		block := words[:min(blockWords, len(f.in[0][0])-from)]
		f.combine(block, from)
		for i, w := range block {
			for ; w != 0; w &= w - 1 {
				if !yield(uint32((from+i)*64 + bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}

// count returns the number of documents that find would return, without the documents in dead. dead is nil if there are no tombstones.
func (f *frequent) count(dead []uint64) (n int) {
	var words [blockWords]uint64
	for from := 0; from < len(f.in[0][0]); from += blockWords {
		block := words[:min(blockWords, len(f.in[0][0])-from)]
		f.combine(block, from)
		if dead != nil {
			for i, w := range dead[from : from+len(block)] {
				block[i] &^= w
			}
		}
		n += ones(block)
	}
	return n
}

// combine sets a block to the documents that are in all sets of f.in and in no set of f.out. The first word of the block has the index
// from in the sets. A block fits into the processor's nearest cache, so the result of many sets is not read from memory and written again
// for each set.
func (f *frequent) combine(block []uint64, from int) {
	unite(block, f.in[0], from)
	for _, sets := range f.in[1:] {
		one := sets[0][from:][:len(block)]
		if len(sets) > 1 {
			one = make([]uint64, blockWords)[:len(block)]
			unite(one, sets, from)
		}
		for i, w := range one {
			block[i] &= w
		}
	}
	for _, sets := range f.out {
		for _, one := range sets {
			for i, w := range one[from:][:len(block)] {
				block[i] &^= w
			}
		}
	}
}

// unite sets a block to the union of the sets.
func unite(block []uint64, sets [][]uint64, from int) {
	copy(block, sets[0][from:])
	for _, one := range sets[1:] {
		for i, w := range one[from:][:len(block)] {
			block[i] |= w
		}
	}
}

// ones returns the number of set bits.
func ones(words []uint64) (n int) {
	for _, w := range words {
		n += bits.OnesCount64(w)
	}
	return n
}

// A compressed bitmap consists of blocks of 65,536 documents. A block with at most listDocs documents is a list with two bytes per
// document. Any other block consists of plain bits.
const (
	blockWords = 1 << 16 / 64
	listDocs   = 1 << 12
)

// bitmapCookie begins the serialized form of a bitmap of blocks as described above (RoaringFormatSpec, "Cookie header").
const bitmapCookie = 12346

// compressed converts plain bits to a bitmap. It first calls fill for each block of 65,536 documents, with the index of the block's first
// word. compressed writes the serialized form, because package roaring builds lists one document at a time, and most query results consist
// of lists.
func compressed(words []uint64, fill func(block []uint64, from int)) (set, error) {
	blocks, size := 0, 0
	counts := make([]int, 0, 16)
	for from := 0; from < len(words); from += blockWords {
		block := words[from:min(from+blockWords, len(words))]
		fill(block, from)
		count := ones(block)
		counts = append(counts, count)
		if count > 0 {
			blocks++
			size += blockSize(count)
		}
	}
	if blocks == 0 {
		return set{}, nil
	}
	at := 8 + 8*blocks
	out := make([]byte, at+size+8) // the 8 extra bytes are needed because writeList writes four documents at a time
	binary.LittleEndian.PutUint32(out, bitmapCookie)
	binary.LittleEndian.PutUint32(out[4:], uint32(blocks))
	keys, offsets := out[8:], out[8+4*blocks:]
	for i, count := range counts {
		if count == 0 {
			continue
		}
		binary.LittleEndian.PutUint16(keys, uint16(i))
		binary.LittleEndian.PutUint16(keys[2:], uint16(count-1))
		binary.LittleEndian.PutUint32(offsets, uint32(at))
		keys, offsets = keys[4:], offsets[4:]
		block := words[i*blockWords : min((i+1)*blockWords, len(words))]
		if count > listDocs {
			for j, w := range block {
				binary.LittleEndian.PutUint64(out[at+8*j:], w)
			}
		} else {
			writeList(out[at:], block)
		}
		at += blockSize(count)
	}
	found := roaring.New()
	if _, err := found.FromBuffer(out); err != nil {
		return set{}, fmt.Errorf("create a bitmap: %w", err)
	}
	return borrowed(found), nil
}

func blockSize(count int) int {
	if count > listDocs {
		return 8 * blockWords
	}
	return 2 * count
}

// writeList writes the positions of the set bits of a block. It writes four positions at a time, even if a word has fewer bits left. The
// positions of the next word overwrite the excess ones. A loop over the exact number of bits would cause a branch misprediction for most
// words.
func writeList(out []byte, block []uint64) {
	at := 0
	for i, w := range block {
		four := uint64(i) * 64 * 0x0001000100010001
		next := at + 2*bits.OnesCount64(w)
		for ; w != 0; at += 8 {
			first := bits.TrailingZeros64(w)
			w &= w - 1
			second := bits.TrailingZeros64(w)
			w &= w - 1
			third := bits.TrailingZeros64(w)
			w &= w - 1
			fourth := bits.TrailingZeros64(w)
			w &= w - 1
			binary.LittleEndian.PutUint64(out[at:], four+(uint64(first)|uint64(second)<<16|uint64(third)<<32|uint64(fourth)<<48))
		}
		at = next
	}
}
