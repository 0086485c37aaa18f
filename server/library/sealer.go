package library

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// Sealer makes cursors opaque. It encrypts them, because a cursor can contain a private member of a submission as a sort value, and because
// links with cursors appear in logs. It authenticates them together with the identity of their listing, so a library accepts a cursor only
// for the listing for which the cursor was created. The length of a cursor reveals the length of its values only roughly: the values are
// padded to 128 bytes, 256 bytes and so on up to 4 KiB, and above that to multiples of 4 KiB. Sealing the same place in the same listing
// twice gives the same text, and every library with the same author key can open the cursor.
type Sealer struct {
	aead cipher.AEAD
	mac  []byte
}

// NewSealer returns the Sealer of a library with the given author key (see Library.AuthorKey).
func NewSealer(authorKey []byte) (*Sealer, error) {
	block, err := aes.NewCipher(derive(authorKey, "cursor encryption"))
	if err != nil {
		return nil, fmt.Errorf("create the cipher for cursors: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("create the cipher for cursors: %w", err)
	}
	return &Sealer{aead: aead, mac: derive(authorKey, "cursor nonce")}, nil
}

func derive(key []byte, purposes ...string) []byte {
	h := hmac.New(sha256.New, key)
	for i, p := range purposes {
		if i > 0 {
			h.Write([]byte{0})
		}
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}

// Seal encodes a place in a listing as a cursor. The place can be any value that JSON can encode. identity is Listing.Identity.
func (s *Sealer) Seal(identity string, place any) (Cursor, error) {
	text, err := json.Marshal(place)
	if err != nil {
		return "", fmt.Errorf("encode a cursor: %w", err)
	}
	text = pad(text)
	nonce := derive(s.mac, identity, string(text))[:s.aead.NonceSize()]
	return Cursor(base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, text, []byte(identity)))), nil
}

// minPlace is the minimum length of an encoded place. Each further permitted length is twice the previous length, but at most maxStep more.
// minPlace and maxStep are in bytes.
const (
	minPlace = 128
	maxStep  = 4 << 10
)

// pad appends blanks, which JSON ignores, until the text has one of the permitted lengths.
func pad(text []byte) []byte {
	size := minPlace
	for size < len(text) {
		size += min(size, maxStep)
	}
	return append(text, bytes.Repeat([]byte{' '}, size-len(text))...)
}

// Open decodes the cursor into place. It returns *CursorError if the cursor does not belong to the listing, or if the encoded place has
// members that place does not have.
func (s *Sealer) Open(c Cursor, identity string, place any) error {
	foreign := &CursorError{Reason: "it does not belong to this listing: start again from the first page"}
	sealed, err := base64.RawURLEncoding.DecodeString(string(c))
	n := s.aead.NonceSize()
	if err != nil || len(sealed) < n {
		return foreign
	}
	text, err := s.aead.Open(nil, sealed[:n], sealed[n:], []byte(identity))
	if err != nil {
		return foreign
	}
	// A cursor of an earlier version of Vitrine can have members that place does not have. If Open ignored them, it would return a different
	// place.
	from := json.NewDecoder(bytes.NewReader(text))
	from.DisallowUnknownFields()
	if from.Decode(place) != nil {
		return foreign
	}
	return nil
}
