package httpapi

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/problems"
	"github.com/vitrine-dev/vitrine/server/query"
)

// listing describes one list of items. It contains everything that differs between the endpoints with such lists.
type listing struct {
	// read selects the items. The method list fills in paging, audience and property.
	read library.Read
	// random is true if the order of the list is random. The order comes from read or from the stored filter.
	random bool
	// adHoc is true for an ad-hoc query, which has a time budget and counts towards the token's limit of concurrent queries.
	adHoc bool
	// defaultSize and maxSize are the default and the maximum of page_size.
	defaultSize, maxSize int64
	// name is the name of the member of _embedded that contains the items. beside is the JSON after that member: "" or `,"…":…`.
	name, beside string
}

// paging identifies the requested page of a list.
type paging struct {
	page, size int64
	cursor     library.Cursor
}

// pagingParams reads the parameters page, page_size and cursor. The cursor takes precedence over page. If both are sent, page only
// determines the number of the page in links.
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

// list answers with one page of a list of items.
func (x *exchange) list(l listing) error {
	at, err := x.pagingParams(l.defaultSize, l.maxSize)
	if err != nil {
		return err
	}
	r := x.seen(l.read)
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

// hideStored hides the text of a stored query from callers who may not read private fields. The caller's own parameters have already been
// parsed and checked, so a syntax error at this point concerns the stored query at least partly.
func hideStored(err error, r library.Read) error {
	if syntax := (*query.SyntaxError)(nil); r.Filter != nil && r.Audience == query.Public && errors.As(err, &syntax) {
		return &problem{Type: problems.QueryTooExpensive, Detail: "the filter, or the filter and the query together, exceed a limit of the query language"}
	}
	return err
}

// hideScope is like hideStored, for the query of the token. Errors in the parameters of the caller are problems, so a syntax error that is
// not one comes from a read.
func (x *exchange) hideScope(err error) error {
	if syntax := (*query.SyntaxError)(nil); x.scope != nil && errors.As(err, &syntax) {
		return &problem{Type: problems.QueryTooExpensive, Detail: "the query together with the query of the token exceeds a limit of the query language"}
	}
	return err
}

// find reads a page. An ad-hoc query runs with a time budget, and counts towards the token's limit of concurrent queries.
func (x *exchange) find(r library.Read, adHoc bool) (page *library.Page, err error) {
	if !adHoc {
		return x.server.lib.Read(x.r.Context(), r)
	}
	err = x.budgeted(func(ctx context.Context) (err error) {
		page, err = x.server.lib.Read(ctx, r)
		return err
	})
	return page, err
}

// headRoom is the number of bytes that a page reserves before its items. They are for the start of the body, which contains the total.
const headRoom = 128

// itemList returns the body of a list of items (specification, Item list response). It builds the body in place in page.Items, which starts
// with headRoom reserved bytes.
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

// drawSeed generates a random seed, which is a number, as the specification requires.
func (s *Server) drawSeed() (string, error) {
	var b [4]byte
	if _, err := io.ReadFull(s.options.Rand, b[:]); err != nil {
		return "", fmt.Errorf("generate a seed: %w", err)
	}
	return strconv.FormatUint(uint64(binary.BigEndian.Uint32(b[:])), 10), nil
}

// readItem returns one item as JSON for the caller. It fails with library.ErrNotFound.
func (x *exchange) readItem(ctx context.Context, id item.ID) ([]byte, error) {
	return x.server.lib.ReadItem(ctx, x.itemRead(id))
}

// inScope fails with library.ErrNotFound if the token has a scope and the item is outside of it.
func (x *exchange) inScope(ctx context.Context, id item.ID) error {
	if x.scope == nil {
		return nil
	}
	_, err := x.readItem(ctx, id)
	return err
}

// maxChecked is the maximum number of items that hidden looks up with one query.
const maxChecked = query.MaxClauses

// hidden returns those of the ids that are not the id of an item in the scope of the token, in the same order. The token has a scope.
func (x *exchange) hidden(ids []item.ID) ([]item.ID, error) {
	shown := make(map[item.ID]bool, len(ids))
	for some := range slices.Chunk(ids, maxChecked) {
		page, err := x.server.lib.Read(x.r.Context(), x.seen(library.Read{Query: library.ItemTerms(some), Limit: len(some), OnlyIDs: true}))
		if err != nil {
			return nil, err
		}
		for _, id := range page.IDs {
			shown[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id item.ID) bool { return shown[id] }), nil
}

func (x *exchange) itemRead(id item.ID) library.ItemRead {
	return library.ItemRead{Property: x.grant.property, ID: id, Audience: x.audience(), Scope: x.scope, BaseURL: x.baseURL()}
}

func noItem(id int64) error {
	if id < 1 {
		return absent("no item of this property has this id")
	}
	return absent("no item of this property has the id %d", id)
}

// orNoItem maps library.ErrNotFound to a problem that names the item.
func orNoItem(err error, id item.ID) error {
	if errors.Is(err, library.ErrNotFound) {
		return noItem(id)
	}
	return err
}
