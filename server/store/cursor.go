package store

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/library"
)

// sealer makes cursors opaque: they are encrypted, because a sort value can be a member of a submission and links end up
// in logs, and authenticated together with the listing that they are of, so that only our own come back, and to where
// they came from. Equal cursors have equal texts.
type sealer struct {
	aead cipher.AEAD
	mac  []byte
}

func newSealer(authorKey []byte) (*sealer, error) {
	block, err := aes.NewCipher(derive(authorKey, "cursor encryption"))
	if err != nil {
		return nil, fmt.Errorf("make the key of cursors: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("make the key of cursors: %w", err)
	}
	return &sealer{aead: aead, mac: derive(authorKey, "cursor nonce")}, nil
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

// SealCursor makes a cursor of a place in a listing: of anything that JSON holds. identity is library.Listing.Identity.
func (s *Store) SealCursor(identity string, place any) (library.Cursor, error) {
	text, err := json.Marshal(place)
	if err != nil {
		return "", fmt.Errorf("encode a cursor: %w", err)
	}
	aead := s.sealer.aead
	nonce := derive(s.sealer.mac, identity, string(text))[:aead.NonceSize()]
	return library.Cursor(base64.RawURLEncoding.EncodeToString(aead.Seal(nonce, nonce, text, []byte(identity)))), nil
}

// OpenCursor reads into place what SealCursor was given, by this process or another one on the same store. A cursor that
// is not one of the listing, or that holds a place of another shape, is a *library.CursorError.
func (s *Store) OpenCursor(c library.Cursor, identity string, place any) error {
	foreign := &library.CursorError{Reason: "it is not one of this listing: start again from the first page"}
	aead := s.sealer.aead
	sealed, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil || len(sealed) < aead.NonceSize() {
		return foreign
	}
	n := aead.NonceSize()
	text, err := aead.Open(nil, sealed[:n], sealed[n:], []byte(identity))
	if err != nil {
		return foreign
	}
	// A cursor of an earlier version has other members: ignoring them would give another place.
	from := json.NewDecoder(bytes.NewReader(text))
	from.DisallowUnknownFields()
	if from.Decode(place) != nil {
		return foreign
	}
	return nil
}
