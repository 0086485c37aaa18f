package segment

import (
	"encoding/binary"
	"math/bits"
)

// Frequencies holds the number of occurrences of a word in each of the word's documents. Most words occur once in most of their documents,
// so only the other documents have a stored count:
//
//	varint   number of bytes of the counts
//	bits     one for each document, set if the document has a count; absent if no document has one
//	varints  the counts
//
// The zero value has the frequency 1 for all documents. Documents are numbered from 0, in their order in the postings.
type Frequencies struct {
	bits, counts []byte
}

// parseFrequencies reads the frequencies of a number of documents, and returns the bytes after them.
func parseFrequencies(b []byte, docs int) (f Frequencies, rest []byte, ok bool) {
	n, rest, ok := uvarint(b)
	if !ok || n == 0 {
		return Frequencies{}, rest, ok
	}
	marks := uint64(docs+7) / 8
	if n > uint64(len(rest)) || marks > uint64(len(rest))-n {
		return Frequencies{}, nil, false
	}
	return Frequencies{bits: rest[:marks:marks], counts: rest[marks : marks+n : marks+n]}, rest[marks+n:], true
}

// append appends the encoded frequencies of a number of documents.
func (f Frequencies) append(b []byte, docs int) []byte {
	b = binary.AppendUvarint(b, uint64(len(f.counts)))
	if len(f.counts) == 0 {
		return b
	}
	b = append(b, f.bits[:(docs+7)/8]...)
	return append(b, f.counts...)
}

// add adds the frequency of the next document. doc is the number of documents before it.
func (f *Frequencies) add(doc int, freq uint32) {
	if doc%8 == 0 {
		f.bits = append(f.bits, 0)
	}
	if freq != 1 {
		f.bits[doc/8] |= 1 << (doc % 8)
		f.counts = binary.AppendUvarint(f.counts, uint64(freq))
	}
}

// reset removes all frequencies and keeps the memory for reuse.
func (f *Frequencies) reset() { f.bits, f.counts = f.bits[:0], f.counts[:0] }

// Counted returns which of n documents from number doc on have a count, as bits. The lowest bit is that of the first document. n is at most
// 64.
func (f Frequencies) Counted(doc, n int) uint64 {
	if len(f.counts) == 0 {
		return 0
	}
	at, shift := doc/8, doc%8
	var word uint64
	if at+9 <= len(f.bits) {
		word = binary.LittleEndian.Uint64(f.bits[at:])>>shift | uint64(f.bits[at+8])<<(64-shift)
	} else {
		for i := at; i < len(f.bits); i++ { // at most eight bytes
			word |= uint64(f.bits[i]) << (8 * (i - at)) >> shift
		}
	}
	return word & (1<<n - 1)
}

// CountsBetween returns how many of the documents from number `from` to number `to` (exclusive) have a count.
func (f Frequencies) CountsBetween(from, to int) (n int) {
	if len(f.counts) == 0 {
		return 0
	}
	for ; from < to; from += 64 {
		n += bits.OnesCount64(f.Counted(from, min(64, to-from)))
	}
	return n
}

// Count returns the count whose varint has one byte and begins at the offset `at` of the counts.
func (f Frequencies) Count(at int) uint32 {
	if at >= len(f.counts) { // only in a damaged file
		return 1
	}
	return uint32(f.counts[at])
}

// frequencyReader reads frequencies in the order of documents. doc is the number of the next document, and `at` is the offset of the next
// count. The reader stores an offset and not the remaining slice, because storing a pointer needs a write barrier.
type frequencyReader struct {
	Frequencies
	doc, at int
}

// next returns the frequency of the next document.
func (r *frequencyReader) next() uint32 {
	counted := r.Counted(r.doc, 1) != 0
	r.doc++
	if counted {
		return r.count()
	}
	return 1
}

// count reads the next count.
func (r *frequencyReader) count() uint32 {
	n, rest, ok := uvarint(r.counts[r.at:])
	if r.at = len(r.counts) - len(rest); !ok {
		return 1
	}
	return uint32(n)
}

// read reads the frequencies of the next documents, and returns their sum.
func (r *frequencyReader) read(freqs []uint32) (sum uint64) {
	for i := range freqs {
		freqs[i] = 1
	}
	sum = uint64(len(freqs))
	for len(freqs) > 0 && r.at < len(r.counts) {
		n := min(len(freqs), 64)
		for counted := r.Counted(r.doc, n); counted != 0; counted &= counted - 1 {
			freq := r.count()
			freqs[bits.TrailingZeros64(counted)&63] = freq
			sum += uint64(freq) - 1
		}
		r.doc += n
		freqs = freqs[n:]
	}
	r.doc += len(freqs)
	return sum
}

// skip skips the frequencies of n documents, and returns their sum.
func (r *frequencyReader) skip(n int) (sum uint64) {
	sum = uint64(n)
	for n > 0 && r.at < len(r.counts) {
		step := min(n, 64)
		counted := bits.OnesCount64(r.Counted(r.doc, step))
		rest, counts := addVarints(r.counts[r.at:], counted)
		r.at = len(r.counts) - len(rest)
		sum += counts - uint64(counted)
		r.doc += step
		n -= step
	}
	r.doc += n
	return sum
}

// addVarints returns the sum of n varints, or of fewer if b ends early, and the bytes after them.
func addVarints(b []byte, n int) (rest []byte, sum uint64) {
	for n >= 8 && len(b) >= 8 {
		word := binary.LittleEndian.Uint64(b)
		if word&0x8080808080808080 != 0 {
			break // a varint of several bytes
		}
		pairs := word&0x00ff00ff00ff00ff + word>>8&0x00ff00ff00ff00ff
		sum += pairs * 0x0001000100010001 >> 48
		b, n = b[8:], n-8
	}
	for ; n > 0 && len(b) > 0; n-- {
		if b[0] < 0x80 {
			sum, b = sum+uint64(b[0]), b[1:]
			continue
		}
		next, rest, ok := uvarint(b)
		if !ok {
			return nil, sum
		}
		sum, b = sum+next, rest
	}
	return b, sum
}

func skipVarints(b []byte, n uint64) []byte {
	for n >= 8 && len(b) >= 8 {
		// A varint ends with a byte whose high bit is 0.
		b, n = b[8:], n-uint64(bits.OnesCount64(^binary.LittleEndian.Uint64(b)&0x8080808080808080))
	}
	for ; n > 0 && len(b) > 0; b = b[1:] {
		if b[0] < 0x80 {
			n--
		}
	}
	return b
}
