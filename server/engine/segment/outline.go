package segment

import (
	"encoding/binary"
	"math"

	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// Outline summarizes a frequent word of a text field for the search for the best hits. It has an entry for each OutlineDocs documents of
// the segment. With the outline, a search can score a block of documents without reading the blocks before it, and can skip a block without
// reading any of its documents. In every corpus, a score rises with the frequency and falls with the length of the text. The shortest text
// of each frequency therefore limits the scores of a block.
//
// A byte before the entries is 1 if each count of the word has one byte, so that the outline can be used, or 0 otherwise. An entry has 16
// bytes:
//
//	uint32   number of documents of the word before the block
//	uint32   number of counts of these documents (see Frequencies)
//	bytes    OutlineFreqs length norms (rank.EncodeLength). Byte i is the norm of the shortest text in which the word has the frequency i+1.
//	         The last byte covers OutlineFreqs and all higher frequencies. If the block has no such text, the norm is 255.
//
// A word has an outline if it occurs in at least outlineFrom documents and in at least 1/OutlineShare of the documents of the segment.
type Outline []byte

// The limits of outlines.
const (
	OutlineDocs  = 4096
	OutlineFreqs = 8
	OutlineShare = 128

	outlineFrom  = 4096
	outlineEntry = 4 + 4 + OutlineFreqs
)

// outlineBytes returns the length of the outline of a word in a number of documents of a segment. It returns 0 if the word has none.
func outlineBytes(docs, all int) int {
	if docs < outlineFrom || docs < all/OutlineShare {
		return 0
	}
	return 1 + (all+OutlineDocs-1)/OutlineDocs*outlineEntry
}

// Block returns the number of documents of the word before a block, and the number of their counts.
func (o Outline) Block(block int) (docs, counts int) {
	b := o[block*outlineEntry:]
	return int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
}

// Shortest returns the norms of the shortest texts of a block. The lowest byte is the norm for the frequency 1.
func (o Outline) Shortest(block int) uint64 {
	return binary.LittleEndian.Uint64(o[block*outlineEntry+8:])
}

// appendOutline appends the outline of a word. norms has the length norm of each document of the segment.
func appendOutline(b []byte, list postingList, norms []byte) []byte {
	freqs := frequencyReader{Frequencies: list.freqs}
	usable := len(b)
	b = append(b, 1)
	docs, counts := 0, 0
	for from := 0; from < len(norms); from += OutlineDocs {
		b = binary.LittleEndian.AppendUint32(b, uint32(docs))
		b = binary.LittleEndian.AppendUint32(b, uint32(counts))
		var shortest [OutlineFreqs]byte
		for i := range shortest {
			shortest[i] = math.MaxUint8
		}
		for ; docs < len(list.docs) && int(list.docs[docs]) < from+OutlineDocs; docs++ {
			freq := freqs.next()
			if freq != 1 {
				counts++
			}
			if freq >= 0x80 {
				b[usable] = 0
			}
			of := &shortest[max(min(freq, OutlineFreqs), 1)-1] // a frequency can be 0 in a damaged file
			*of = min(*of, norms[list.docs[docs]])
		}
		b = append(b, shortest[:]...)
	}
	return b
}

// appendNorms appends the length norms of texts with the given numbers of words.
func appendNorms(norms []byte, lengths []int64) []byte {
	for _, n := range lengths {
		norms = append(norms, rank.EncodeLength(int(n)))
	}
	return norms
}
