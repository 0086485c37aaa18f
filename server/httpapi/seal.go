package httpapi

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/library"
)

// cursorSeal makes cursors opaque. A cursor holds the sort values of an item, and a filter that READ-ONLY tokens may list
// can be sorted by a private field; so cursors are encrypted, and what was not sealed here is refused before the library
// sees it.
//
// The key comes from the library's, which lives as long as the store: a cursor survives a restart. The nonce is a keyed
// hash of the cursor itself, so that the same page has the same bytes, as its ETag promises.
type cursorSeal struct {
	aead  cipher.AEAD
	nonce []byte
}

func newCursorSeal(secret []byte) (*cursorSeal, error) {
	derive := func(use string) []byte {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(use))
		return mac.Sum(nil)
	}
	block, err := aes.NewCipher(derive("vitrine cursor key"))
	if err != nil {
		return nil, fmt.Errorf("make the cursor key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("make the cursor key: %w", err)
	}
	return &cursorSeal{aead: aead, nonce: derive("vitrine cursor nonce")}, nil
}

// seal returns the cursor as callers see it, "" for none. It can be used in its property alone.
func (s *cursorSeal) seal(p library.PropertyID, c library.Cursor) string {
	if c == "" {
		return ""
	}
	mac := hmac.New(sha256.New, s.nonce)
	fmt.Fprintf(mac, "%s\x00%s", p, c)
	nonce := mac.Sum(nil)[:s.aead.NonceSize()]
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, []byte(c), []byte(p)))
}

// open is the inverse of seal.
func (s *cursorSeal) open(p library.PropertyID, sealed string) (library.Cursor, error) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err == nil && len(raw) < s.aead.NonceSize() {
		err = errors.New("too short")
	}
	if err != nil {
		return "", &library.CursorError{Reason: "it is none of this server's"}
	}
	n := s.aead.NonceSize()
	c, err := s.aead.Open(nil, raw[:n], raw[n:], []byte(p))
	if err != nil {
		return "", &library.CursorError{Reason: "it is none of this server's"}
	}
	return library.Cursor(c), nil
}
