// Package feed tells what has changed in one listing since a cursor: the items that are in the listing and have changed, and the items that
// have changed and are not in it. The HTTP API sends these changes.
//
// # Invariants
//
//   - Membership is judged at the time of the read, so no state of a follower is kept in the server.
//   - A follower that applies all changes has the same items as a list of the listing. If changes cannot be told one by one, the page has
//     Reset: the follower lists everything and continues from Page.Next, which is older than that list.
//   - Nothing that the caller may not read changes anything in a page: neither items outside the scope of its token, nor private members.
//
// docs/decisions/0023-change-feed.md explains the design.
//
// This package may import flight, library, query and item.
package feed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/flight"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Source is what a Feed needs of a library.
type Source interface {
	library.Feed
	library.Reader
	Filter(p library.PropertyID, ref library.FilterRef) (library.FilterRecord, error)
	AuthorKey() []byte
}

// Feed reads the changes of listings. It is safe for concurrent use.
type Feed struct {
	lib    Source
	sealer *library.Sealer
	tags   Tags
	clock  func() time.Time
	random io.Reader

	mu sync.Mutex
	// waiting contains the reads that wait for changes, so that callers with the same listing and the same position share one.
	waiting map[shared]*flight.Value[*found]
	// watches contains the listings that are watched, by their digests.
	watches map[[sha256.Size]byte]*watch
}

// New returns a Feed of the listings of a library. random is a cryptographically secure source of random bytes.
func New(lib Source, clock func() time.Time, random io.Reader) (*Feed, error) {
	sealer, err := library.NewSealer(lib.AuthorKey())
	if err != nil {
		return nil, err
	}
	return &Feed{lib: lib, sealer: sealer, tags: NewTags(lib.AuthorKey()), clock: clock, random: random, waiting: map[shared]*flight.Value[*found]{}, watches: map[[sha256.Size]byte]*watch{}}, nil
}

// Listing is what a caller follows, and what it may see.
type Listing struct {
	// Read selects the items with Property, Audience, Filter, Query, Where and Scope, and renders them with BaseURL. Its other members are
	// ignored.
	Read library.Read
	// Narrowed is true if the caller may not learn which other items exist. The pages then contain no items that are not in the listing, so
	// only Page.Total tells that an item has left.
	Narrowed bool
	// OnlyIDs omits Change.Item.
	OnlyIDs bool
}

// Request is a request for a page of changes.
type Request struct {
	Listing
	// Since is Page.Next of an earlier page, or "" to begin.
	Since string
	// Limit is the maximum number of changes.
	Limit int
	// Wait is the time to wait if there is no change.
	Wait time.Duration
}

// Page is a page of changes.
type Page struct {
	// Reset is true if the caller has to list the items now, replace all that it has, and continue from Next. It is true for the first page
	// (Since is ""), and if something else than items has changed the listing, or if the library no longer knows all changes.
	Reset   bool
	Changes []Change
	// Next is the cursor after the changes.
	Next string
	// More is true if there may be further changes already.
	More bool
	// Total is the number of items in the listing.
	Total int64
}

// Change is an item that has changed.
type Change struct {
	ID item.ID
	// In is true if the item is in the listing now. It may have been there before.
	In bool
	// Item is the item as JSON if In is true, unless Listing.OnlyIDs is set.
	Item []byte
}

// place is the content of a cursor.
type place struct {
	Position library.Position `json:"p"`
	// Basis identifies everything except items that decides what the listing contains (see Feed.basis).
	Basis string `json:"b"`
	// Total is the number of items in the listing, if the caller is narrowed.
	Total int64 `json:"t,omitempty"`
	// Salt makes the texts of all cursors different. Otherwise, equal cursors would tell that no hidden item has changed.
	Salt []byte `json:"s"`
}

// found are the changes after a position.
type found struct {
	changes []Change
	next    library.Position
	more    bool
	lost    bool
	total   int64
}

// Read returns the changes of a listing since a cursor. Its errors are those of library.Reader.Read and library.Feed.Changes. It fails with
// *library.CursorError if the cursor belongs to another listing.
func (f *Feed) Read(ctx context.Context, r Request) (*Page, error) {
	identity := r.identity()
	basis, err := f.basis(r.Listing)
	if err != nil {
		return nil, err
	}
	var at place
	if r.Since != "" {
		if err := f.sealer.Open(library.Cursor(r.Since), identity, &at); err != nil {
			return nil, err
		}
	}
	if r.Since == "" || at.Basis != basis {
		return f.reset(ctx, r, identity, basis)
	}
	for deadline := f.clock().Add(r.Wait); ; {
		got, err := f.changes(ctx, r, at, max(0, deadline.Sub(f.clock())))
		if err != nil {
			return nil, err
		}
		if got.lost {
			return f.reset(ctx, r, identity, basis)
		}
		told := len(got.changes) > 0 || r.Narrowed && got.total != at.Total
		at.Position, at.Total = got.next, got.total
		if told || !got.more && !f.clock().Before(deadline) {
			page := &Page{Changes: got.changes, More: got.more, Total: got.total}
			page.Next, err = f.seal(identity, at, r.Narrowed)
			return page, err
		}
	}
}

// reset returns a page that makes the caller list everything. The position in its cursor is older than that list.
func (f *Feed) reset(ctx context.Context, r Request, identity, basis string) (*Page, error) {
	now, err := f.lib.Changes(ctx, library.ChangesRead{Property: r.Read.Property, Limit: 1})
	if err != nil {
		return nil, err
	}
	total, err := f.total(ctx, r.Listing)
	if err != nil {
		return nil, err
	}
	page := &Page{Reset: true, Total: total}
	page.Next, err = f.seal(identity, place{Position: now.Next, Basis: basis, Total: total}, r.Narrowed)
	return page, err
}

func (f *Feed) seal(identity string, at place, narrowed bool) (string, error) {
	if !narrowed {
		at.Total = 0
	}
	at.Salt = make([]byte, 9)
	if _, err := io.ReadFull(f.random, at.Salt); err != nil {
		return "", fmt.Errorf("generate a cursor: %w", err)
	}
	c, err := f.sealer.Seal(identity, at)
	return string(c), err
}

// shared identifies reads with the same result.
type shared struct {
	listing  [sha256.Size]byte
	position library.Position
	total    int64
	limit    int
}

// changes reads the changes after a place. It waits for changes at most for the given time. Callers that wait share one read.
func (f *Feed) changes(ctx context.Context, r Request, at place, wait time.Duration) (*found, error) {
	if wait == 0 {
		// Not shared, because the caller must see what was acknowledged before the call.
		return f.judge(ctx, r, at, 0)
	}
	key := shared{r.digest(at.Basis), at.Position, at.Total, r.Limit}
	f.mu.Lock()
	same := f.waiting[key]
	if same == nil {
		same = &flight.Value[*found]{}
		f.waiting[key] = same
	}
	f.mu.Unlock()
	return same.Get(ctx, func() (*found, error) {
		got, err := f.judge(ctx, r, at, wait)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.waiting[key] == same {
			delete(f.waiting, key)
		}
		return got, err
	})
}

// judge reads the changed items after a place, and says which of them are in the listing.
func (f *Feed) judge(ctx context.Context, r Request, at place, wait time.Duration) (*found, error) {
	log, err := f.lib.Changes(ctx, library.ChangesRead{Property: r.Read.Property, After: at.Position, Limit: r.Limit, Wait: wait})
	if err != nil {
		return nil, err
	}
	got := &found{next: log.Next, more: log.More, lost: log.Lost, total: at.Total}
	ids := make([]item.ID, 0, len(log.Items))
	for _, it := range log.Items {
		if !it.Private || r.Read.Audience == query.Private {
			ids = append(ids, it.ID)
		}
	}
	in := make(map[item.ID][]byte, len(ids))
	if len(ids) > 0 {
		if err := f.members(ctx, r.Listing, ids, in); err != nil {
			return nil, err
		}
	}
	for _, id := range ids {
		if shown, member := in[id]; member || !r.Narrowed {
			got.changes = append(got.changes, Change{ID: id, In: member, Item: shown})
		}
	}
	if len(ids) > 0 || wait == 0 || !r.Narrowed {
		got.total, err = f.total(ctx, r.Listing)
	}
	return got, err
}

// members adds those of the items that are in the listing to the map in.
func (f *Feed) members(ctx context.Context, l Listing, ids []item.ID, in map[item.ID][]byte) error {
	oneOf := query.Bool{Clauses: make([]query.Clause, len(ids))}
	for i, id := range ids {
		oneOf.Clauses[i] = query.Clause{Occur: query.Should, Node: query.FieldTerm("id", strconv.FormatInt(id, 10))}
	}
	r := l.read()
	r.Where, r.Limit, r.OnlyIDs = query.And(r.Where, oneOf), len(ids), l.OnlyIDs
	page, err := f.lib.Read(ctx, r)
	if syntax := (*query.SyntaxError)(nil); errors.As(err, &syntax) && len(ids) > 1 {
		// The query of the listing leaves no room for so many clauses.
		half := len(ids) / 2
		return errors.Join(f.members(ctx, l, ids[:half], in), f.members(ctx, l, ids[half:], in))
	}
	if err != nil {
		return err
	}
	for _, id := range page.IDs {
		in[id] = nil
	}
	if l.OnlyIDs {
		return nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(slices.Concat([]byte("["), page.Items, []byte("]")), &items); err != nil {
		return fmt.Errorf("decode the items of a page: %w", err)
	}
	for _, shown := range items {
		var it struct {
			ID item.ID `json:"id"`
		}
		if err := json.Unmarshal(shown, &it); err != nil {
			return fmt.Errorf("decode an item of a page: %w", err)
		}
		in[it.ID] = bytes.Clone(shown)
	}
	return nil
}

// total returns the number of items in a listing.
func (f *Feed) total(ctx context.Context, l Listing) (int64, error) {
	page, err := f.lib.Read(ctx, l.read())
	if err != nil {
		return 0, err
	}
	return page.Total, nil
}

// read returns a Read with only the members that select and render items, in an order that costs nothing.
func (l Listing) read() library.Read {
	return library.Read{
		Property: l.Read.Property, Audience: l.Read.Audience, Filter: l.Read.Filter, Query: l.Read.Query, Where: l.Read.Where,
		Scope: l.Read.Scope, BaseURL: l.Read.BaseURL, Order: query.Order{{Field: "id"}},
	}
}

// identity identifies the listing in cursors. What else decides what the listing contains can change, and is a part of the basis.
func (l Listing) identity() string {
	name := ""
	if l.Read.Filter != nil {
		name = l.Read.Filter.UUID
	}
	return strconv.Quote(string(l.Read.Property)) + " changes " + strconv.Quote(name) + textOf(l.Read.Query) + textOf(l.Read.Where)
}

// digest identifies the listing as the caller sees it.
func (l Listing) digest(basis string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s %s %q %t %t", l.identity(), basis, l.Read.BaseURL, l.Narrowed, l.OnlyIDs))
}

func textOf(n query.Node) string {
	if n == nil {
		return " -"
	}
	return " " + strconv.Quote(n.String())
}

// basis identifies everything except items that decides which items the listing contains and what they look like: the definitions, the
// query of the filter, the scope and the audience. If the listing also depends on the time, on other items or on what the caller may not
// read, the basis changes every minute, so that the caller lists the items again. The minute depends on nothing that the caller may not
// read.
func (f *Feed) basis(l Listing) (string, error) {
	rules, err := f.lib.Rules(l.Read.Property)
	if err != nil {
		return "", err
	}
	public := l.Read.Audience == query.Public
	again := rules.Volatile || public && rules.Private
	text := fmt.Appendf(nil, "%s %d %q", rules.Digest, l.Read.Audience, l.Read.Scope.String())
	parts := []query.Node{l.Read.Query, l.Read.Where}
	if l.Read.Scope != nil {
		parts = append(parts, l.Read.Scope.Part().Query)
	}
	if l.Read.Filter != nil {
		stored, err := f.lib.Filter(l.Read.Property, *l.Read.Filter)
		if err != nil {
			return "", err
		}
		parsed, err := query.ParseFor(stored.Query, query.Private)
		if err != nil {
			return "", library.Unreadable("filter "+stored.UUID, err)
		}
		text = strconv.AppendQuote(text, stored.Query)
		parts = append(parts, parsed.Root)
	}
	for _, n := range parts {
		again = again || n != nil && (query.UsesNow(n) || query.Expands(n) || public && query.UsesPrivate(n))
	}
	if again {
		text = f.clock().UTC().Truncate(time.Minute).AppendFormat(text, time.RFC3339)
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:12]), nil
}
