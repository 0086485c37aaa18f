package reference

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// cursor is a place in a listing: right after an item, given by what it is sorted by, or, by relevance, an index into a
// listing that is kept for a minute.
type cursor struct {
	// Listing is the listing's identity.
	Listing string `json:"l"`
	// After is nil by relevance.
	After *position `json:"a,omitempty"`
	// Pin, Index and Until are set by relevance: which listing, where in it, and until when (Unix milliseconds).
	Pin   string `json:"p,omitempty"`
	Index int    `json:"i,omitempty"`
	Until int64  `json:"u,omitempty"`
}

// sealer makes cursors opaque: they are encrypted, because a sort value can be a member of a submission and links end up
// in logs, and authenticated, so that only our own come back. Equal cursors have equal texts.
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

func derive(key []byte, purpose string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(purpose))
	return h.Sum(nil)
}

func (s *sealer) seal(c cursor) (library.Cursor, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode a cursor: %w", err)
	}
	nonce := derive(s.mac, string(text))[:s.aead.NonceSize()]
	return library.Cursor(base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, text, nil))), nil
}

func (s *sealer) open(c library.Cursor, listing string) (cursor, error) {
	foreign := &library.CursorError{Reason: "it is not one of this listing: start again from the first page"}
	sealed, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil || len(sealed) < s.aead.NonceSize() {
		return cursor{}, foreign
	}
	n := s.aead.NonceSize()
	text, err := s.aead.Open(nil, sealed[:n], sealed[n:], nil)
	if err != nil {
		return cursor{}, foreign
	}
	var out cursor
	if json.Unmarshal(text, &out) != nil || out.Listing != listing {
		return cursor{}, foreign
	}
	return out, nil
}

// pinTime is how long a listing by relevance is kept for its cursors; maxPins how many are kept at most, and
// maxPinnedItems how many items they may have together (8 bytes each).
const (
	pinTime        = time.Minute
	maxPins        = 256
	maxPinnedItems = 4 << 20
)

// pins are the listings by relevance whose cursors are out. Scores change with every item that comes or goes, so that no
// value in a cursor could say where it was.
type pins map[string]*pin

type pin struct {
	ids   []item.ID
	until time.Time
}

// keep keeps a listing for a minute from now on. Where there is too much the one that ends first goes.
func (p pins) keep(name string, ids []item.ID, now time.Time) {
	p.expire(now)
	if known := p[name]; known != nil {
		known.until = now.Add(pinTime)
		return
	}
	for len(p) > 0 && (len(p) >= maxPins || p.items()+len(ids) > maxPinnedItems) {
		first := ""
		for name, pin := range p {
			if first == "" || pin.until.Before(p[first].until) {
				first = name
			}
		}
		delete(p, first)
	}
	p[name] = &pin{ids: ids, until: now.Add(pinTime)}
}

func (p pins) items() int {
	n := 0
	for _, pin := range p {
		n += len(pin.ids)
	}
	return n
}

func (p pins) expire(now time.Time) {
	for name, pin := range p {
		if !now.Before(pin.until) {
			delete(p, name)
		}
	}
}

// find returns the listing of a cursor whose minute is not over.
func (p pins) find(c cursor, now time.Time) ([]item.ID, error) {
	p.expire(now)
	if known := p[c.Pin]; known != nil && now.Before(time.UnixMilli(c.Until)) {
		return known.ids, nil
	}
	return nil, &library.CursorError{Reason: "a listing by relevance is kept for a minute: start again from the first page"}
}
