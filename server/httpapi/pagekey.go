package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/vitrine-dev/vitrine/server/coding"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// pageKey says which page a request means, in which content coding. Together with the version of the library, it determines the bytes. Two
// keys may mean the same page (see identity), but two pages never have the same key. Tokens with the same rights share pages.
type pageKey struct {
	property library.PropertyID
	audience query.Audience
	scope    string // the query of the token's scope
	base     string // the base URL of links
	path     string
	// query is the query part of the URL. link is set instead if it contains a token, because tokens must not be stored.
	query, link string
	seed        string
	zip         bool
	// byContent says whether the ETag of the page depends only on its content. The library's version also changes with what the caller must
	// not notice: private members, or other items (see exchange.narrowed).
	byContent bool
}

// pageKey returns the key of the page that the request reads with r.
func (x *exchange) pageKey(r library.Read) pageKey {
	k := pageKey{
		property: r.Property, audience: r.Audience, scope: r.Scope.String(), base: r.BaseURL,
		path: x.r.URL.EscapedPath(), query: x.r.URL.RawQuery, seed: r.Seed, zip: coding.Gzip(x.r.Header),
		byContent: x.narrowed() || r.Audience == query.Public,
	}
	if x.params.Has("access_token") {
		k.query, k.link = "", x.linkHere()
	}
	return k
}

// identity returns a digest of the page in all content codings. here is the link to the page, which is equal for equal parameters in another
// form.
func (k pageKey) identity(here string) string {
	text := make([]byte, 0, 512)
	// Length prefixes ensure that different lists of parts have different encodings.
	for _, part := range [...]string{string(k.property), strconv.Itoa(int(k.audience)), k.scope, k.base, k.path, here, k.seed} {
		text = binary.BigEndian.AppendUint64(text, uint64(len(part)))
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// tag returns the ETag of the page. It consists of a version and of the identity. The version is a contentVersion or that of the library, with
// which Read can return ErrNotModified without reading the page.
func (k pageKey) tag(version, here string) string {
	return quoteTag(base64.RawURLEncoding.EncodeToString([]byte(version))+"."+k.identity(here), k.zip)
}

// heldVersion finds the ETag of the page among tags, the ETags that the caller has. It returns the library's version in that ETag, or "" if
// the caller has no such ETag.
func (k pageKey) heldVersion(tags []sentTag, here string) string {
	end := strings.TrimPrefix(quoteTag("."+k.identity(here), k.zip), `"`)
	for _, tag := range tags {
		if encoded, ok := strings.CutSuffix(strings.TrimPrefix(tag.text, `"`), end); ok {
			if version, err := base64.RawURLEncoding.DecodeString(encoded); err == nil {
				return string(version)
			}
		}
	}
	return ""
}
