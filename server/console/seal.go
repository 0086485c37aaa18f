package console

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

// minKey is the minimum length of Options.Key.
const minKey = 16

// sealer encrypts and authenticates texts that the server gives away and later receives again: the contents of cookies, and codes.
type sealer struct{ aead cipher.AEAD }

// newSealer returns a sealer. It derives its key from key. The purpose distinguishes the sealers with the same key.
func newSealer(key []byte, purpose string) (*sealer, error) {
	if len(key) < minKey {
		return nil, fmt.Errorf("the key of the console has %d bytes: at least %d are needed", len(key), minKey)
	}
	derived, err := hkdf.Key(sha256.New, key, nil, purpose, 32)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("create a cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("create a cipher: %w", err)
	}
	return &sealer{aead}, nil
}

// seal encrypts a content.
func (s *sealer) seal(content []byte) []byte { return s.aead.Seal(nil, nil, content, nil) }

// open returns a sealed content. It returns false if no sealer with the same key and purpose sealed it.
func (s *sealer) open(sealed []byte) ([]byte, bool) {
	content, err := s.aead.Open(nil, nil, sealed, nil)
	return content, err == nil
}
