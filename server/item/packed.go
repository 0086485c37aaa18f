package item

import (
	"encoding/binary"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/vitrine-dev/vitrine/server/query"
)

// Packed is a compressed Encoded, for files from which single items are read: the length of the private response without slots as
// uvarint, and then the Encoded as a block of S2.
type Packed []byte

// maxEncoded is more than the length of any Encoded that the limits of items allow.
const maxEncoded = 16 << 20

// Packer packs items, and reuses its memory. It is not safe for concurrent use.
type Packer struct{ encoded, response []byte }

// Append appends the item as a Packed.
func (p *Packer) Append(dst []byte, it *Item) []byte {
	p.encoded = AppendEncoded(p.encoded[:0], it)
	p.response = Encoded(p.encoded).Append(p.response[:0], query.Private, Slots{})
	dst = binary.AppendUvarint(dst, uint64(len(p.response)))
	n := len(dst)
	dst = slices.Grow(dst, s2.MaxEncodedLen(len(p.encoded)))
	return dst[:n+len(s2.EncodeBetter(dst[n:cap(dst)], p.encoded))]
}

// ResponseLen returns the length of the private response without slots, 0 for damaged bytes.
func (p Packed) ResponseLen() int {
	n, size := binary.Uvarint(p)
	if size <= 0 || n > maxResponse {
		return 0
	}
	return int(n)
}

// maxResponse is more than the length of any response, because no filler occurs more than eight times.
const maxResponse = 8 * maxEncoded

// Unpacker makes responses of packed items, and reuses its memory. It is not safe for concurrent use.
type Unpacker struct {
	encoded []byte
	record  record
}

// Append appends the response of a packed item, see Encoded.Append. It returns false, and appends nothing, for damaged bytes.
func (u *Unpacker) Append(dst []byte, p Packed, a query.Audience, s Slots) ([]byte, bool) {
	_, size := binary.Uvarint(p)
	if size <= 0 {
		return dst, false
	}
	block := p[size:]
	if n, err := s2.DecodedLen(block); err != nil || n > maxEncoded {
		return dst, false
	}
	encoded, err := s2.Decode(u.encoded[:cap(u.encoded)], block)
	if err != nil || !u.record.parse(encoded) {
		return dst, false
	}
	u.encoded = encoded
	return u.record.append(dst, a, s), true
}
