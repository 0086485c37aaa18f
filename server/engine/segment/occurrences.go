package segment

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// Occurrences looks up the positions of a word in single documents of the word's postings. The cost of a lookup hardly depends on the
// number of documents between two lookups.
type Occurrences struct {
	// A short list of documents is in docs. A longer list is in bitmap. If many documents will be looked up, words holds the documents as
	// plain bits.
	docs   []uint32
	bitmap *roaring.Bitmap
	words  []uint64
	// word is the index of the last element of words that was read. before is the number of documents in the elements before it.
	word, before int

	occurrences
	// reader is at the next document. position is the offset of the positions of that document.
	reader   frequencyReader
	position int
}

// wordsPerRank is the number of 64-bit words that can be copied and counted in the time of one call of Rank of package roaring.
const wordsPerRank = 64

// Occurrences returns the occurrences of a word. lookups is the approximate number of documents that the caller will look up. plain holds
// the documents as plain bits, or is nil if the caller does not have them.
func (p Postings) Occurrences(lookups int, plain []uint64) *Occurrences {
	o := &Occurrences{}
	if p.docs == 0 {
		return o
	}
	kind, docs, rest := p.documents()
	switch {
	case plain != nil:
		o.words = plain
	case p.docs == 1:
		o.docs = []uint32{p.doc}
	case kind == listed:
		o.docs = appendListed(make([]uint32, 0, bitmapFrom), docs, p.s.dir.Docs)
	default:
		o.bitmap = p.Bitmap()
		if n := (p.s.dir.Docs + 63) / 64; lookups > n/wordsPerRank {
			o.words = make([]uint64, n)
			if !WriteBits(o.bitmap, o.words) {
				return &Occurrences{}
			}
		}
	}
	o.occurrences = p.occurrences(rest)
	o.reader.Frequencies = o.freqs
	return o
}

// Positions appends the positions of the word in a document. If the document does not contain the word, it appends nothing. Callers must
// look up documents in ascending order.
func (o *Occurrences) Positions(dst []uint32, doc uint32) []uint32 {
	at, ok := o.index(doc)
	if !ok {
		return dst
	}
	if skip := at / skipEvery; skip > o.reader.doc/skipEvery && skip*skipBytes <= len(o.skipped) {
		b := o.skipped[(skip-1)*skipBytes:]
		o.reader.doc = skip * skipEvery
		o.reader.at = offset(b, o.reader.counts)
		o.position = offset(b[4:], o.positions)
	}
	positions := skipVarints(o.positions[o.position:], o.reader.skip(at-o.reader.doc))
	dst, positions = appendPositions(dst, positions, uint64(o.reader.next()))
	o.position = len(o.positions) - len(positions)
	return dst
}

// offset reads an offset in the bytes `of`. If the offset is beyond the end of these bytes, because the file is damaged, offset returns the
// end.
func offset(b, of []byte) int {
	return int(min(uint64(binary.LittleEndian.Uint32(b)), uint64(len(of))))
}

// index returns the number of documents in the postings that come before doc, and whether doc is in the postings. If doc is not in the
// postings, the number is undefined.
func (o *Occurrences) index(doc uint32) (at int, ok bool) {
	switch {
	case o.words != nil:
		word, bit := int(doc/64), uint64(1)<<(doc%64)
		if word < o.word || word >= len(o.words) || o.words[word]&bit == 0 {
			return 0, false
		}
		for ; o.word < word; o.word++ {
			o.before += bits.OnesCount64(o.words[o.word])
		}
		return o.before + bits.OnesCount64(o.words[word]&(bit-1)), true
	case o.bitmap != nil:
		return int(o.bitmap.Rank(doc)) - 1, o.bitmap.Contains(doc)
	}
	at, ok = slices.BinarySearch(o.docs, doc)
	return at, ok
}
