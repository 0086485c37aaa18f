package item

import (
	"encoding/binary"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/vitrine-dev/vitrine/server/query"
)

// Packed is a compressed Encoded, for files from which single items are read. It consists of the length of the private response with empty
// Slots, as uvarint, and the Encoded as a block of S2.
type Packed []byte

// maxEncoded limits the memory that damaged bytes can make the reader allocate, in bytes. It is far more than the length of any item.
const maxEncoded = 64 << 20

// A response without slots has at most mostFilled + mostRepeated·n bytes if its Encoded has n bytes: the names of members and the fillers
// have a fixed length, and no value occurs more than mostRepeated times.
const (
	mostFilled   = 4096
	mostRepeated = 8
)

// Packer packs items, and reuses its memory. It is not safe for concurrent use.
type Packer struct{ encoded, response []byte }

// Append appends the item as a Packed.
func (p *Packer) Append(dst []byte, it *Item) []byte {
	p.encoded = appendEncoded(p.encoded[:0], it)
	p.response = Encoded(p.encoded).Append(p.response[:0], query.Private, Slots{})
	dst = binary.AppendUvarint(dst, uint64(len(p.response)))
	n := len(dst)
	dst = slices.Grow(dst, s2.MaxEncodedLen(len(p.encoded)))
	return dst[:n+len(s2.EncodeBetter(dst[n:cap(dst)], p.encoded))]
}

// ResponseLen returns the length of the private response with empty Slots. It returns 0 if the stored length cannot be correct.
func (p Packed) ResponseLen() int {
	length, _, encoded, ok := p.split()
	if !ok || length > mostFilled+mostRepeated*encoded {
		return 0
	}
	return length
}

// split returns the length of the response, the compressed block, and the length of the Encoded in the block.
func (p Packed) split() (length int, block []byte, encoded int, ok bool) {
	n, size := binary.Uvarint(p)
	if size <= 0 || n > mostFilled+mostRepeated*maxEncoded {
		return 0, nil, 0, false
	}
	block = p[size:]
	encoded, err := s2.DecodedLen(block)
	return int(n), block, encoded, err == nil && encoded <= maxEncoded
}

// Unpacker builds responses of packed items, and reuses its memory. It is not safe for concurrent use.
type Unpacker struct {
	encoded []byte
	record  record
}

// Item returns a packed item, or nil if p is damaged.
func (u *Unpacker) Item(p Packed) *Item {
	_, block, _, ok := p.split()
	if !ok {
		return nil
	}
	encoded, err := s2.Decode(u.encoded[:cap(u.encoded)], block)
	if err != nil {
		return nil
	}
	u.encoded = encoded
	it, err := Decode(encoded)
	if err != nil {
		return nil
	}
	return it
}

// Append appends the response of a packed item (see Encoded.Append). If p is damaged, it returns false and appends nothing.
func (u *Unpacker) Append(dst []byte, p Packed, a query.Audience, s Slots) ([]byte, bool) {
	_, block, _, ok := p.split()
	if !ok {
		return dst, false
	}
	encoded, err := s2.Decode(u.encoded[:cap(u.encoded)], block)
	if err != nil || !u.record.parse(encoded) {
		return dst, false
	}
	u.encoded = encoded
	return u.record.append(dst, a, s), true
}
