package feed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Tags names contents for caches: responses carry the tags of what they show, and events carry the tags of what has changed. A tag has 13
// characters: letters, digits, "-" and "_". It tells nothing about what it names, and stays the same as long as the library exists.
type Tags struct{ key []byte }

// NewTags returns the tags of a library with the given author key (see library.Library.AuthorKey).
func NewTags(authorKey []byte) Tags {
	mac := hmac.New(sha256.New, authorKey)
	mac.Write([]byte("cache tags"))
	return Tags{mac.Sum(nil)}
}

// Property returns the tag of everything that a property shows.
func (t Tags) Property(p library.PropertyID) string { return t.tag('p', p, "") }

// Filter returns the tag of the items that a filter lists.
func (t Tags) Filter(p library.PropertyID, uuid string) string { return t.tag('f', p, uuid) }

// Listing returns the tag of what a listing shows: that of its filter or, if uuid is "", that of the property.
func (t Tags) Listing(p library.PropertyID, uuid string) string {
	if uuid == "" {
		return t.Property(p)
	}
	return t.Filter(p, uuid)
}

// Item returns the tag of one item.
func (t Tags) Item(p library.PropertyID, id item.ID) string {
	return t.tag('i', p, strconv.FormatInt(id, 10))
}

func (t Tags) tag(kind byte, p library.PropertyID, name string) string {
	mac := hmac.New(sha256.New, t.key)
	mac.Write([]byte{kind})
	mac.Write([]byte(p))
	mac.Write([]byte{0})
	mac.Write([]byte(name))
	var sum [sha256.Size]byte
	return string(kind) + base64.RawURLEncoding.EncodeToString(mac.Sum(sum[:0])[:9])
}
