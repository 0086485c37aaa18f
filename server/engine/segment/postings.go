package segment

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// The postings of a term have the following format:
//
//	the documents (absent if there is only one, which is then in the dictionary):
//	  byte            kind: listed or bitmapped
//	  varint          number of bytes that follow
//	  if listed: varints: for each document, the distance from the previous document, minus one (from -1 for the first)
//	  if bitmapped: a roaring bitmap
//	for a text field, with the documents in order:
//	  frequencies     the number of occurrences of the word in each document (see frequencies.go)
//	  uint32s         skips, only if the documents are a bitmap: for each group of skipEvery documents except the first group, the
//	                  numbers of bytes of the counts (in the frequencies) and of the positions before the group
//	  outline         only if the word is frequent (see outline.go)
//	  varints         positions: the distance from the previous position in the document (from 0 for the first)
const (
	listed    = 0
	bitmapped = 1
)

// bitmapFrom is the minimum number of documents for a bitmap. A list of fewer documents is smaller than a bitmap and as fast to read.
const bitmapFrom = 128

// skipEvery is the number of documents between two skips. skipBytes is the length of a skip.
const (
	skipEvery = 64
	skipBytes = 8
)

// skips returns the number of skips in the postings of a text term with this number of documents.
func skips(docs int) int {
	if docs < bitmapFrom {
		return 0
	}
	return (docs - 1) / skipEvery
}

// Postings holds the documents of a term. For a text field, it also holds the frequency and the positions of the term in each document.
// The zero value has no documents.
type Postings struct {
	s    *Segment
	docs int
	doc  uint32
	at   uint64
	text bool
}

// Len returns the number of documents, including deleted ones.
func (p Postings) Len() int { return p.docs }

// In reports whether the postings are in the same segment as a field.
func (p Postings) In(f *Field) bool { return p.s == f.s }

// documents returns the kind and the bytes of the documents, and the bytes that follow them.
func (p Postings) documents() (kind byte, docs, rest []byte) {
	if p.s == nil || p.at >= uint64(len(p.s.data)) {
		return listed, nil, nil
	}
	rest = p.s.data[p.at:]
	if p.docs == 1 {
		return listed, nil, rest
	}
	kind = rest[0]
	n, rest, ok := uvarint(rest[1:])
	if !ok || n > uint64(len(rest)) {
		return listed, nil, nil
	}
	return kind, rest[:n:n], rest[n:]
}

// Frequencies returns the frequencies of the term in its documents. If the field is not a text field, each frequency is 1. The result
// aliases the segment's memory.
func (p Postings) Frequencies() Frequencies {
	_, _, rest := p.documents()
	return p.occurrences(rest).freqs
}

// Outline returns the outline of a frequent word, or nil if the term has none. The result aliases the segment's memory.
func (p Postings) Outline() Outline {
	_, _, rest := p.documents()
	b := p.occurrences(rest).outline
	if len(b) == 0 || b[0] == 0 {
		return nil
	}
	return Outline(b[1:])
}

// occurrences holds the parts of the postings after the documents. positions may have further bytes after the last position.
type occurrences struct {
	freqs                       Frequencies
	skipped, outline, positions []byte
}

// occurrences splits the bytes after the documents. If the field is not a text field or the file is damaged, the result is empty.
func (p Postings) occurrences(rest []byte) occurrences {
	if !p.text {
		return occurrences{}
	}
	o, after := occurrences{}, rest
	var ok bool
	if o.freqs, rest, ok = parseFrequencies(rest, p.docs); !ok {
		return occurrences{}
	}
	p.s.prefetch(after[:len(after)-len(rest)], rest)
	skipped := skips(p.docs) * skipBytes
	outlined := outlineBytes(p.docs, p.s.dir.Docs)
	if skipped+outlined > len(rest) {
		return occurrences{}
	}
	o.skipped, rest = rest[:skipped:skipped], rest[skipped:]
	o.outline, o.positions = rest[:outlined:outlined], rest[outlined:]
	return o
}

// Bitmap returns the documents. The bitmap is read-only and may alias the segment's memory.
func (p Postings) Bitmap() *roaring.Bitmap {
	out := roaring.New()
	if p.docs == 0 {
		return out
	}
	if p.docs == 1 {
		out.Add(p.doc)
		return out
	}
	kind, docs, rest := p.documents()
	if kind == bitmapped {
		p.s.prefetch(docs, rest)
		if _, err := out.FromBuffer(docs); err != nil || !p.s.within(out) {
			return roaring.New()
		}
		return out
	}
	var buffer [bitmapFrom]uint32
	out.AddMany(appendListed(buffer[:0], docs, p.s.dir.Docs))
	return out
}

// AppendTo appends the documents in order.
func (p Postings) AppendTo(docs []uint32) []uint32 {
	switch p.docs {
	case 0:
		return docs
	case 1:
		return append(docs, p.doc)
	}
	kind, list, _ := p.documents()
	if kind == bitmapped {
		beyond := func(doc uint32) bool { return int(doc) >= p.s.dir.Docs } // can be true only in a damaged file
		return append(docs, slices.DeleteFunc(p.Bitmap().ToArray(), beyond)...)
	}
	return appendListed(docs, list, p.s.dir.Docs)
}

// AddTo sets the bits of the documents in words, which has one bit for each document of the segment.
func (p Postings) AddTo(words []uint64) {
	switch p.docs {
	case 0:
		return
	case 1:
		words[p.doc/64] |= 1 << (p.doc % 64)
		return
	}
	kind, list, _ := p.documents()
	limit := uint64(p.s.dir.Docs)
	if kind == bitmapped {
		var docs [256]uint32
		it := p.Bitmap().ManyIterator()
		for n := it.NextMany(docs[:]); n > 0; n = it.NextMany(docs[:]) {
			for _, doc := range docs[:n] {
				if uint64(doc) < limit { // always true, unless the file is damaged
					words[doc/64] |= 1 << (doc % 64)
				}
			}
		}
		return
	}
	for next := uint64(0); len(list) > 0; {
		d, rest, ok := uvarint(list)
		if next += d; !ok || next >= limit {
			return
		}
		words[next/64] |= 1 << (next % 64)
		list, next = rest, next+1
	}
}

// appendListed decodes a list of documents. It stops at the first document that is at least `limit`.
func appendListed(dst []uint32, b []byte, limit int) []uint32 {
	last := uint64(0)
	for first := true; len(b) > 0; first = false {
		d, rest, ok := uvarint(b)
		if !ok {
			break
		}
		if b = rest; first {
			last = d
		} else {
			last += d + 1
		}
		if last >= uint64(limit) {
			break
		}
		dst = append(dst, uint32(last))
	}
	return dst
}

// Iterator iterates over the documents of postings in ascending order.
type Iterator struct {
	p     Postings
	limit uint64
	// If the documents are stored as a list, list is the unread rest. If they are stored as a bitmap, many iterates over it, buf holds the
	// documents read from it, and chunk is the part of buf that was not returned yet.
	list  []byte
	first bool
	doc   uint64
	many  roaring.ManyIntIterable
	chunk []uint32
	buf   []uint32
	// freqs is at the next document. positions holds the positions that are not read yet. pending is the number of positions of earlier
	// documents that the caller did not read. freq is the frequency of the current document.
	freqs     frequencyReader
	positions []byte
	pending   uint64
	freq      uint32
}

// Iterator returns an iterator before the first document.
func (p Postings) Iterator() Iterator {
	i := Iterator{p: p, first: true}
	if p.docs == 0 {
		return i
	}
	i.limit = uint64(p.s.dir.Docs)
	kind, docs, rest := p.documents()
	if p.docs > 1 {
		if kind == bitmapped {
			p.s.prefetch(docs, rest)
			b := roaring.New()
			if _, err := b.FromBuffer(docs); err != nil || !p.s.within(b) {
				return Iterator{}
			}
			i.many = b.ManyIterator()
			i.buf = make([]uint32, 256)
		} else {
			i.list = docs
		}
	}
	o := p.occurrences(rest)
	i.freqs.Frequencies, i.positions = o.freqs, o.positions
	return i
}

// Next moves to the next document. It returns false at the end.
func (i *Iterator) Next() (doc uint32, ok bool) {
	switch {
	case i.p.docs == 1:
		if !i.first {
			return 0, false
		}
		i.first = false
		i.doc = uint64(i.p.doc)
	case i.many != nil:
		if len(i.chunk) == 0 {
			n := i.more(i.buf)
			if n == 0 {
				return 0, false
			}
			i.chunk = i.buf[:n]
		}
		i.doc, i.chunk = uint64(i.chunk[0]), i.chunk[1:]
	default:
		d, rest, ok := uvarint(i.list)
		if !ok {
			return 0, false
		}
		if i.list = rest; i.first {
			i.doc, i.first = d, false
		} else {
			i.doc += d + 1
		}
		if i.doc >= i.limit {
			i.list = nil
			return 0, false
		}
	}
	i.step()
	return uint32(i.doc), true
}

// more reads the next documents of a bitmap. It stops at a document that is at least `limit`, which occurs only in a damaged file.
func (i *Iterator) more(docs []uint32) int {
	n := i.many.NextMany(docs)
	for k, doc := range docs[:n] {
		if uint64(doc) >= i.limit {
			return k
		}
	}
	return n
}

// step reads the frequency of the current document.
func (i *Iterator) step() {
	i.pending += uint64(i.freq)
	i.freq = i.freqs.next()
}

// Freq returns the frequency of the term in the current document. It returns 1 if the field is not a text field.
func (i *Iterator) Freq() uint32 { return i.freq }

// Positions appends the positions of the term in the current document.
func (i *Iterator) Positions(dst []uint32) []uint32 {
	if !i.p.text {
		return dst
	}
	i.positions = skipVarints(i.positions, i.pending)
	i.pending = 0
	dst, _ = appendPositions(dst, i.positions, uint64(i.freq))
	return dst
}

// appendPositions decodes the n positions of one document and returns the bytes after these positions.
func appendPositions(dst []uint32, b []byte, n uint64) (positions []uint32, rest []byte) {
	last := uint64(0)
	for range n {
		if len(b) > 0 && b[0] < 0x80 {
			last, b = last+uint64(b[0]), b[1:]
		} else {
			d, rest, ok := uvarint(b)
			if !ok {
				return dst, nil
			}
			last, b = last+d, rest
		}
		dst = append(dst, uint32(last))
	}
	return dst, b
}

// postingList holds the postings of one term for writing: at least one document, in ascending order. For a text field, it also holds the
// frequencies and the encoded positions. There is at least one position.
type postingList struct {
	docs      []uint32
	freqs     Frequencies
	positions []byte
}

// postingsWriter writes the postings of terms, one after the other.
type postingsWriter struct {
	out   *checksumWriter
	bytes []byte
	// docs is the number of documents of the segment. norms has the length norm of each document in the current field, if it is a text field.
	docs  int
	norms []byte
	err   error // the first error
}

// write writes the postings of a term. It returns false if there is nothing to write because the dictionary holds the only document.
func (w *postingsWriter) write(list postingList) (written bool) {
	if len(list.docs) > 1 {
		w.writeDocs(list.docs)
	}
	if len(list.positions) == 0 {
		return len(list.docs) > 1
	}
	w.bytes = list.freqs.append(w.bytes[:0], len(list.docs))
	w.bytes = w.appendSkips(w.bytes, list)
	if outlineBytes(len(list.docs), w.docs) > 0 {
		w.bytes = appendOutline(w.bytes, list, w.norms)
	}
	w.out.write(w.bytes)
	w.out.write(list.positions)
	return true
}

func (w *postingsWriter) appendSkips(b []byte, list postingList) []byte {
	n := skips(len(list.docs))
	if n == 0 {
		return b
	}
	w.err = cmp.Or(w.err, fits("bytes for the positions of one word", uint64(len(list.positions))))
	freqs, positions := frequencyReader{Frequencies: list.freqs}, list.positions
	for range n {
		positions = skipVarints(positions, freqs.skip(skipEvery))
		b = binary.LittleEndian.AppendUint32(b, uint32(freqs.at))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(list.positions)-len(positions)))
	}
	return b
}

func (w *postingsWriter) writeDocs(docs []uint32) {
	b := w.bytes[:0]
	kind := byte(listed)
	if len(docs) >= bitmapFrom {
		kind = bitmapped
		bitmap := roaring.BitmapOf(docs...)
		bitmap.RunOptimize()
		b, _ = bitmap.ToBytes() // writes to memory do not fail
	} else {
		next := uint32(0)
		for _, d := range docs {
			b = binary.AppendUvarint(b, uint64(d-next))
			next = d + 1
		}
	}
	w.bytes = b
	w.out.write([]byte{kind})
	w.out.uvarint(uint64(len(b)))
	w.out.write(b)
}
