// Package feed tells what has changed in one listing since a cursor: the items that are in the listing and have changed, and the items that
// have changed and are not in it. The HTTP API and Webhooks send these changes.
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
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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
	// stop ends stopped, and with it all waits.
	stopped context.Context
	stop    context.CancelFunc

	mu sync.Mutex
	// waiting contains the reads that wait for changes, so that callers with the same listing and the same position share one.
	waiting map[shared]*flight.Value[*found]
	// watches contains the listings that are watched, by their digests.
	watches map[[sha256.Size]byte]*watch
	// long is locked by a scan with more than longScan steps.
	long flight.Mutex
}

// New returns a Feed of the listings of a library. random is a cryptographically secure source of random bytes.
func New(lib Source, clock func() time.Time, random io.Reader) (*Feed, error) {
	sealer, err := library.NewSealer(lib.AuthorKey())
	if err != nil {
		return nil, err
	}
	f := &Feed{
		lib: lib, sealer: sealer, tags: NewTags(lib.AuthorKey()), clock: clock, random: random,
		waiting: map[shared]*flight.Value[*found]{}, watches: map[[sha256.Size]byte]*watch{},
	}
	f.stopped, f.stop = context.WithCancel(context.Background())
	return f, nil
}

// Stop makes all calls of Read return without further waiting, now and in future, and ends all watches.
func (f *Feed) Stop() { f.stop() }

// Listing is what a caller follows, and what it may see.
type Listing struct {
	// Read selects the items with Property, Audience, Filter, Query, Where and Scope, and renders them with BaseURL. Its other members are
	// ignored. The filter must have a UUID.
	Read library.Read
	// Narrowed is true if the caller may not learn which other items exist. The pages then contain no items that are not in the listing, so
	// only Page.Total tells that an item has left.
	Narrowed bool
	// OnlyIDs omits Change.Item.
	OnlyIDs bool
}

// Request is a request for a page of changes.
type Request struct {
	// Listing returns what the caller follows and may see now. Read calls it before each search, and at least once a second while it waits. It
	// returns the errors of Listing.
	Listing func() (Listing, error)
	// Since is Page.Next of an earlier page, or "" to begin.
	Since string
	// Limit is the maximum number of changes. It must be positive.
	Limit int
	// Wait is the time to wait if there is no change.
	Wait time.Duration
	// Run calls search, for example with a context that limits its time, and returns its error. Read does not wait for changes within Run. nil
	// means that search runs with the context of Read.
	Run func(search func(context.Context) error) error
}

// Page is a page of changes.
type Page struct {
	// Reset is true if the caller has to list the items now, replace all that it has, and continue from Next. It is true for the first page
	// (Since is ""), and if something else than items has changed the listing, or if the library no longer knows all changes.
	Reset bool
	// Changes are the changed items, each of them once, in the order of their ids. The order of the changes is not told, because it depends on
	// changes that the caller may not see.
	Changes []Change
	// Next is the cursor after the changes.
	Next string
	// More is true if further changes follow already.
	More bool
	// Total is the number of items in the listing.
	Total int64
	// News is true if something has happened since the cursor: Reset, Changes, or an item that has left the listing of a narrowed caller.
	News bool
}

// Change is an item that has changed.
type Change struct {
	ID item.ID
	// In is true if the item is in the listing now. It may have been there before.
	In bool
	// Item is the item as JSON if In is true, unless Listing.OnlyIDs is set.
	Item []byte
}

// place is the content of a cursor. The JSON of each place has at most 127 bytes, so all cursors have the same length (see library.Sealer).
type place struct {
	Position library.Position `json:"p"`
	// Basis identifies everything except items that decides what the listing contains (see Feed.basis).
	Basis string `json:"b"`
	// Total is the number of items in the listing, if it tells the caller that an item has left (see search.counted).
	Total int64 `json:"t,omitempty"`
	// Salt makes the texts of all cursors different. Otherwise, equal cursors would tell that no hidden item has changed.
	Salt []byte `json:"s"`
}

// These are the lengths of a digest and of a salt in a cursor, in bytes.
const (
	basisBytes = 9
	saltBytes  = 6
)

// found are the changes after a place.
type found struct {
	changes []Change
	next    library.Position
	more    bool
	lost    bool
	total   int64
}

// recheck is the maximum time between two calls of Request.Listing while Read waits.
const recheck = time.Second

// Read returns the changes of a listing since a cursor. Its errors are those of library.Reader.Read, library.Feed.Changes, Request.Listing and
// Request.Run. It fails with *library.CursorError if the cursor belongs to another listing.
func (f *Feed) Read(ctx context.Context, r Request) (*Page, error) {
	if r.Run == nil {
		r.Run = func(search func(context.Context) error) error { return search(ctx) }
	}
	waiting, cancel := context.WithTimeout(ctx, r.Wait)
	defer cancel()
	defer context.AfterFunc(f.stopped, cancel)()
	var at place
	for opened := ""; ; {
		l, err := r.Listing()
		if err != nil {
			return nil, err
		}
		basis, drifts, err := f.basis(l)
		if err != nil {
			return nil, err
		}
		s := search{f, r, l, basis, l.Narrowed && !drifts}
		if r.Since == "" {
			return s.reset(ctx)
		}
		if identity := l.identity(); identity != opened {
			if err := f.sealer.Open(library.Cursor(r.Since), identity, &at); err != nil {
				return nil, err
			}
			opened = identity
		}
		if at.Basis != basis {
			return s.reset(ctx)
		}
		over := waiting.Err() != nil
		got, err := s.changes(ctx, waiting, at)
		if err != nil {
			if !over && waiting.Err() != nil && ctx.Err() == nil {
				continue // the wait is over, so read once more without waiting
			}
			return nil, err
		}
		if got.lost {
			return s.reset(ctx)
		}
		news := len(got.changes) > 0 || s.counted && got.total != at.Total
		at.Position, at.Total = got.next, got.total
		if news || over {
			page := &Page{Changes: got.changes, More: got.more, Total: got.total, News: news}
			page.Next, err = s.seal(at)
			return page, err
		}
	}
}

// search is one search for the changes of a listing.
type search struct {
	*Feed
	r     Request
	l     Listing
	basis string
	// counted is true if another total means that an item has left the listing. The total of a listing that drifts (see Feed.basis) can differ
	// for other reasons. The next change of a hidden item would then be the time at which the caller learns of it.
	counted bool
}

// reset returns a page that makes the caller list everything. The position in its cursor is older than that list.
func (s search) reset(ctx context.Context) (*Page, error) {
	now, err := s.lib.Changes(ctx, library.ChangesRead{Property: s.l.Read.Property, Limit: 1})
	if err != nil {
		return nil, err
	}
	page := &Page{Reset: true, News: true}
	if page.Total, err = s.total(); err != nil {
		return nil, err
	}
	page.Next, err = s.seal(place{Position: now.Next, Basis: s.basis, Total: page.Total})
	return page, err
}

func (s search) seal(at place) (string, error) {
	if !s.counted {
		at.Total = 0
	}
	at.Salt = make([]byte, saltBytes)
	if _, err := io.ReadFull(s.random, at.Salt); err != nil {
		return "", fmt.Errorf("generate a cursor: %w", err)
	}
	c, err := s.sealer.Seal(s.l.identity(), at)
	return string(c), err
}

// shared identifies reads with the same result.
type shared struct {
	listing  [sha256.Size]byte
	position library.Position
	total    int64
	limit    int
}

// changes reads the changes after a place. If waiting has not ended, it waits for changes at most until then, and not longer than recheck.
// Callers that wait share one read.
func (s search) changes(ctx, waiting context.Context, at place) (*found, error) {
	if waiting.Err() != nil {
		// Not shared, because the caller must see what was acknowledged before the call.
		return s.judge(ctx, at, 0)
	}
	key := shared{s.l.digest(s.basis), at.Position, at.Total, s.r.Limit}
	s.mu.Lock()
	same := s.waiting[key]
	if same == nil {
		same = &flight.Value[*found]{}
		s.waiting[key] = same
	}
	s.mu.Unlock()
	return same.Get(waiting, func() (*found, error) {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.waiting[key] == same {
				delete(s.waiting, key)
			}
		}()
		return s.judge(waiting, at, recheck)
	})
}

// maxScanned is the maximum number of changed items that judge requests at a time. After longScan of these steps, a scan continues alone:
// a caller with an old cursor who sees none of the changes would otherwise occupy a CPU with each of its requests.
const (
	maxScanned = 500
	longScan   = 20
)

// judge reads the changed items after a place, and says which of them are in the listing. The result covers as many changes of the library as
// possible without telling more than r.Limit items. So it does not depend on changes of items that the caller may not see, which lie between
// the others.
func (s search) judge(ctx context.Context, at place, wait time.Duration) (*found, error) {
	got := &found{next: at.Position, total: at.Total}
	told := map[item.ID]Change{}
	searched := wait == 0
	for limit, steps := s.r.Limit, 1; ; steps++ {
		if steps == longScan {
			if err := s.long.Lock(ctx); err != nil {
				return nil, err
			}
			defer s.long.Unlock()
		}
		log, err := s.lib.Changes(ctx, library.ChangesRead{Property: s.l.Read.Property, After: got.next, Limit: limit, Wait: wait})
		if err != nil {
			return nil, err
		}
		if log.Lost {
			return &found{lost: true}, nil
		}
		wait = 0
		ids := s.visible(log.Items)
		searched = searched || len(ids) > 0
		news, err := s.members(ids)
		if err != nil {
			return nil, err
		}
		after := maps.Clone(told)
		for _, c := range news {
			if c.In || !s.l.Narrowed {
				after[c.ID] = c
			} else {
				delete(after, c.ID)
			}
		}
		if len(after) > s.r.Limit {
			if limit == 1 {
				got.more = true
				break
			}
			limit /= 2
			continue
		}
		grown := len(after) > len(told)
		told, got.next = after, log.Next
		if !log.More {
			break
		}
		if room := s.r.Limit - len(told); grown {
			limit = max(1, room)
		} else {
			limit = min(2*limit, maxScanned)
		}
	}
	got.changes = slices.SortedFunc(maps.Values(told), func(a, b Change) int { return cmp.Compare(a.ID, b.ID) })
	var err error
	if searched {
		got.total, err = s.total()
	}
	return got, err
}

// visible returns the ids of the items whose change the caller may notice.
func (s search) visible(items []library.ChangedItem) []item.ID {
	ids := make([]item.ID, 0, len(items))
	for _, it := range items {
		if !it.Private || s.l.Read.Audience == query.Private {
			ids = append(ids, it.ID)
		}
	}
	return ids
}

// members says which of the items are in the listing.
func (s search) members(ids []item.ID) ([]Change, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	r := s.l.read()
	r.Where, r.Limit, r.OnlyIDs = query.And(r.Where, library.ItemTerms(ids)), len(ids), s.l.OnlyIDs
	page, err := s.page(r)
	if syntax := (*query.SyntaxError)(nil); errors.As(err, &syntax) && syntax.Limit && len(ids) > 1 {
		// The query of the listing leaves no room for so many clauses.
		half := len(ids) / 2
		first, err := s.members(ids[:half])
		if err != nil {
			return nil, err
		}
		second, err := s.members(ids[half:])
		return append(first, second...), err
	}
	if err != nil {
		return nil, err
	}
	in := make(map[item.ID][]byte, len(ids))
	for _, id := range page.IDs {
		in[id] = nil
	}
	if !s.l.OnlyIDs {
		if in, err = byID(page.Items); err != nil {
			return nil, err
		}
	}
	changes := make([]Change, len(ids))
	for i, id := range ids {
		shown, member := in[id]
		changes[i] = Change{ID: id, In: member, Item: shown}
	}
	return changes, nil
}

// byID splits the items of a page.
func byID(page []byte) (map[item.ID][]byte, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(slices.Concat([]byte("["), page, []byte("]")), &items); err != nil {
		return nil, fmt.Errorf("decode the items of a page: %w", err)
	}
	all := make(map[item.ID][]byte, len(items))
	for _, shown := range items {
		var it struct {
			ID item.ID `json:"id"`
		}
		if err := json.Unmarshal(shown, &it); err != nil {
			return nil, fmt.Errorf("decode an item of a page: %w", err)
		}
		all[it.ID] = shown
	}
	return all, nil
}

// total returns the number of items in the listing.
func (s search) total() (int64, error) {
	page, err := s.page(s.l.read())
	if err != nil {
		return 0, err
	}
	return page.Total, nil
}

// page reads a page of the listing.
func (s search) page(r library.Read) (page *library.Page, err error) {
	err = s.r.Run(func(ctx context.Context) (err error) {
		page, err = s.lib.Read(ctx, r)
		return err
	})
	return page, err
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
	return sha256.Sum256(fmt.Appendf(nil, "%s %s %t %t", l.identity(), basis, l.Narrowed, l.OnlyIDs))
}

func textOf(n query.Node) string {
	if n == nil {
		return " -"
	}
	return " " + strconv.Quote(n.String())
}

// basis identifies everything except items that decides which items the listing contains and what they look like: the definitions, the
// query of the filter, the scope, the audience and the base URL. If the listing also depends on the time, on other items or on what the caller may not
// read, the basis changes every minute, so that the caller lists the items again. The minute depends on nothing that the caller may not
// read. If these also decide which items the listing contains, and not only what the items look like, the listing drifts: its total can
// change without a change that Read tells.
func (f *Feed) basis(l Listing) (basis string, drifts bool, err error) {
	rules, err := f.lib.Rules(l.Read.Property)
	if err != nil {
		return "", false, err
	}
	public := l.Read.Audience == query.Public
	// The tags and units of items can change without a change that Read tells.
	moves := rules.Volatile || public && rules.Private
	text := fmt.Appendf(nil, "%s %d %q %q", rules.Digest, l.Read.Audience, l.Read.Scope.String(), l.Read.BaseURL)
	parts := []query.Node{l.Read.Query, l.Read.Where}
	if l.Read.Scope != nil {
		parts = append(parts, l.Read.Scope.Part().Query)
	}
	if l.Read.Filter != nil {
		stored, err := f.lib.Filter(l.Read.Property, *l.Read.Filter)
		if err != nil {
			return "", false, err
		}
		parsed, err := query.ParseFor(stored.Query, query.Private)
		if err != nil {
			return "", false, library.Unreadable("filter "+stored.UUID, err)
		}
		text = strconv.AppendQuote(text, stored.Query)
		parts = append(parts, parsed.Root)
	}
	for _, n := range parts {
		drifts = drifts || n != nil && (query.UsesNow(n) || query.Expands(n) || public && query.UsesPrivate(n) || moves && usesRules(n))
	}
	if drifts || moves {
		text = f.clock().UTC().Truncate(time.Minute).AppendFormat(text, time.RFC3339)
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:basisBytes]), drifts, nil
}

// usesRules reports whether a query uses what manifests add to items.
func usesRules(n query.Node) bool {
	return slices.ContainsFunc(query.Names(n), func(f query.FieldName) bool {
		return f.Reaches("tags") || f.Reaches("activate_units") || f.Reaches("default_activate_unit")
	})
}
