package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// listing is one list of items: what differs between the endpoints that have one.
type listing struct {
	// read says which items; paging, audience and property are filled in.
	read library.Read
	// random is true when the order in effect is random: of read, or of its stored filter.
	random bool
	// free is true for a query that the caller sent: it has a time budget and counts against the token's cap.
	free bool
	// defaultSize and maxSize are of page_size.
	defaultSize, maxSize int64
	// name is the member of _embedded that holds the items; beside is what stands after them, "" or `,"…":…`.
	name, beside string
}

// paging is which page of a list is asked for.
type paging struct {
	page, size int64
	cursor     library.Cursor
}

// pagingParams reads page, page_size and cursor. The cursor wins over the page, which then only counts on.
func (x *exchange) pagingParams(defaultSize, maxSize int64) (paging, error) {
	page, err := x.number("page", 1, 1, item.MaxID)
	if err != nil {
		return paging{}, err
	}
	size, err := x.number("page_size", defaultSize, 1, maxSize)
	if err != nil {
		return paging{}, err
	}
	cursor, err := x.optional("cursor")
	return paging{page, size, library.Cursor(cursor)}, err
}

// list answers with a page of items.
func (x *exchange) list(l listing) error {
	at, err := x.pagingParams(l.defaultSize, l.maxSize)
	if err != nil {
		return err
	}
	r := l.read
	r.Property, r.Audience, r.BaseURL = x.grant.property, x.audience(), x.baseURL()
	r.Offset, r.After, r.Limit = (at.page-1)*at.size, at.cursor, int(at.size)
	var fresh freshness
	if !l.random {
		r.Seed = ""
	} else if r.Seed == "" {
		fresh.never = true
		if r.Seed, err = x.server.drawSeed(); err != nil {
			return err
		}
	}

	return x.page(r, l, fresh, func(next library.Cursor) links { return x.pageLinks(at.page, next, r.Seed) })
}

// hideStored keeps a stored query's text from READ-ONLY callers: what they sent was parsed and checked before, so that an
// error about syntax now speaks, in part at least, of what is stored.
func hideStored(err error, r library.Read) error {
	if syntax := (*query.SyntaxError)(nil); r.Filter != nil && r.Audience == query.Public && errors.As(err, &syntax) {
		return &problem{Type: queryTooExpensive, Detail: "the filter and what was added to it pass a limit of the query language together"}
	}
	return err
}

// find reads a page. A free query is read within its budget and the token's cap.
func (x *exchange) find(r library.Read, free bool) (page *library.Page, err error) {
	if !free {
		return x.server.lib.Read(x.r.Context(), r)
	}
	err = x.budgeted(func(ctx context.Context) (err error) {
		page, err = x.server.lib.Read(ctx, r)
		return err
	})
	return page, err
}

// headRoom is how many bytes before its items a page leaves free for what stands before them, which tells their total.
const headRoom = 128

// itemList is the body of a list of items (specification, Item list response): page.Items, which leave headRoom, with
// what stands around them.
func itemList(page *library.Page, l listing, to links) []byte {
	head := append(make([]byte, 0, headRoom), `{"total_results":`...)
	head = strconv.AppendInt(head, page.Total, 10)
	head = append(head, `,"_embedded":{"`...)
	head = append(head, l.name...)
	head = append(head, `":[`...)
	page.Items = append(page.Items, ']')
	page.Items = append(page.Items, l.beside...)
	page.Items = append(page.Items, `},"_links":`...)
	page.Items = append(to.append(page.Items), '}')
	body := page.Items[headRoom-len(head):]
	copy(body, head)
	return body
}

// identity digests everything that the bytes of a list depend on besides the library's state: who asks, and for what.
func (x *exchange) identity(seed string) string {
	text := make([]byte, 0, 512)
	// Lengths stand between the parts, so that no two lists of parts meet.
	for _, part := range [...]string{
		string(x.grant.property), strconv.Itoa(int(x.audience())), x.baseURL(), x.r.URL.EscapedPath(), x.linkHere(), seed,
	} {
		text = binary.BigEndian.AppendUint64(text, uint64(len(part)))
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// versionTag is the ETag of a list: the library's version of it, which lets the library say "not modified" without
// reading the page, and its identity.
func versionTag(version, identity string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(version)) + "." + identity
}

// heldVersion finds, among the ETags that a caller holds, the version of the list with this identity and encoding.
func heldVersion(tags []string, identity string, zip bool) string {
	end := strings.TrimPrefix(quoteTag("."+identity, zip), `"`)
	for _, tag := range tags {
		if encoded, ok := strings.CutSuffix(strings.TrimPrefix(tag, `"`), end); ok {
			if version, err := base64.RawURLEncoding.DecodeString(encoded); err == nil {
				return string(version)
			}
		}
	}
	return ""
}

// drawSeed draws a seed: a number, as the specification types it.
func (s *Server) drawSeed() (string, error) {
	var b [4]byte
	if _, err := io.ReadFull(s.options.Rand, b[:]); err != nil {
		return "", fmt.Errorf("draw a seed: %w", err)
	}
	return strconv.FormatUint(uint64(binary.BigEndian.Uint32(b[:])), 10), nil
}

// readItem returns one item as JSON, as the caller may see it. library.ErrNotFound.
func (x *exchange) readItem(id item.ID) ([]byte, error) {
	return x.server.lib.ReadItem(x.r.Context(), library.ItemRead{
		Property: x.grant.property, ID: id, Audience: x.audience(), BaseURL: x.baseURL(),
	})
}

func noItem(id int64) error {
	if id < 1 {
		return absent("no item of this property has that id")
	}
	return absent("no item of this property has the id %d", id)
}

// orNoItem words ErrNotFound for an item.
func orNoItem(err error, id item.ID) error {
	if errors.Is(err, library.ErrNotFound) {
		return noItem(id)
	}
	return err
}
