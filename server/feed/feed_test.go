package feed

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/library/librarytest"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/reference"
)

const shop library.PropertyID = "shop/default"

var began = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is a library with a Feed.
type world struct {
	*reference.Library
	t     *testing.T
	feed  *Feed
	clock *librarytest.Clock
	// reads counts the calls of Read.
	reads atomic.Int64
	// gate, if set, is closed when calls of Changes that wait may return.
	gate chan struct{}
	// seen, if set, is called with each result of Changes.
	seen func(context.Context, *library.ItemChanges)
}

func (w *world) Read(ctx context.Context, r library.Read) (*library.Page, error) {
	w.reads.Add(1)
	return w.Library.Read(ctx, r)
}

func (w *world) Changes(ctx context.Context, r library.ChangesRead) (*library.ItemChanges, error) {
	if w.gate != nil && r.Wait > 0 {
		<-w.gate
	}
	got, err := w.Library.Changes(ctx, r)
	if err == nil && w.seen != nil {
		w.seen(ctx, got)
	}
	return got, err
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: librarytest.NewClock(began)}
	var err error
	if w.Library, err = reference.Open(reference.Options{Dir: t.TempDir(), Clock: w.clock.Now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if w.feed, err = New(w, w.clock.Now, rand.Reader); err != nil {
		t.Fatal(err)
	}
	w.apply(library.Definition{Owner: owner(library.KindProperty, "default"), PropertySpec: &library.Property{PlatformPageID: 1}})
	return w
}

func owner(k library.Kind, name string) library.Owner {
	return library.Owner{Install: "test", Kind: k, Namespace: "shop", Name: name}
}

func (w *world) apply(d library.Definition) {
	w.t.Helper()
	d.Property = shop
	results, err := w.Apply(w.t.Context(), []library.Definition{d})
	if err != nil || results[0].Err != nil {
		w.t.Fatal(err, results)
	}
}

func (w *world) write(muts ...library.Mutation) {
	w.t.Helper()
	outcomes, err := w.Write(w.t.Context(), shop, muts)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			w.t.Fatal(o.Err)
		}
	}
}

// put creates or replaces an item. The text of its submission is private.
func put(id item.ID, status, private string) library.Mutation {
	it := &item.Item{ID: id, ApprovalStatus: status, CreatedOn: "2026-11-20T08:00:00Z", Content: item.Content{ContentType: item.Text, Text: "beach"}}
	if private != "" {
		it.Submission = json.RawMessage(fmt.Sprintf(`{"note":%q}`, private))
	}
	return library.Mutation{Put: it, Replace: true}
}

func parse(t *testing.T, text string) query.Node {
	t.Helper()
	q, err := query.ParseFor(text, query.Private)
	if err != nil {
		t.Fatal(err)
	}
	return q.Root
}

// listing returns the listing of a query for callers that see everything.
func (w *world) listing(text string) Listing {
	return Listing{Read: library.Read{Property: shop, Audience: query.Private, Query: parse(w.t, text), BaseURL: "https://content.example"}}
}

// request returns a request for the changes of a listing.
func request(l Listing, since string, limit int) Request {
	return Request{Listing: func() (Listing, error) { return l, nil }, Since: since, Limit: limit}
}

func (w *world) read(r Request) *Page {
	w.t.Helper()
	page, err := w.feed.Read(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return page
}

// now returns the cursor of now.
func (w *world) now(l Listing) string {
	w.t.Helper()
	page := w.read(request(l, "", 1))
	if !page.Reset || len(page.Changes) > 0 {
		w.t.Fatalf("the first page is %+v", page)
	}
	return page.Next
}

// told returns a page as text: reset, or +id and -id for each change, and whether there are more.
func told(p *Page) string {
	if p.Reset {
		return "reset"
	}
	var parts []string
	for _, c := range p.Changes {
		sign := "-"
		if c.In {
			sign = "+"
		}
		parts = append(parts, fmt.Sprint(sign, c.ID))
	}
	if p.More {
		parts = append(parts, "more")
	}
	return strings.Join(parts, " ")
}

// expect reads a page, compares it, and returns the next cursor.
func (w *world) expect(l Listing, since string, limit int, want string) string {
	w.t.Helper()
	page := w.read(request(l, since, limit))
	if got := told(page); got != want {
		w.t.Fatalf("the changes are %q, want %q", got, want)
	}
	return page.Next
}

// listed returns the items of a listing.
func (w *world) listed(l Listing) map[item.ID]string {
	w.t.Helper()
	r := l.read()
	r.Limit = 1000
	page, err := w.Library.Read(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	items, err := byID(page.Items)
	if err != nil {
		w.t.Fatal(err)
	}
	all := map[item.ID]string{}
	for id, text := range items {
		all[id] = string(text)
	}
	return all
}

// follower has the items of a listing.
type follower struct {
	listing Listing
	limit   int
	cursor  string
	items   map[item.ID]string
}

// catchUp applies all changes.
func (f *follower) catchUp(w *world) {
	w.t.Helper()
	for {
		page := w.read(request(f.listing, f.cursor, f.limit))
		f.cursor = page.Next
		if page.Reset {
			f.items = w.listed(f.listing)
			continue
		}
		if len(page.Changes) > f.limit {
			w.t.Fatalf("%d changes, want at most %d", len(page.Changes), f.limit)
		}
		for _, c := range page.Changes {
			if delete(f.items, c.ID); c.In {
				f.items[c.ID] = string(c.Item)
			}
		}
		if page.Total != int64(len(f.items)) && f.listing.Narrowed && !page.More {
			f.items = w.listed(f.listing) // only the total tells a narrowed caller that items have left
		}
		if !page.More {
			return
		}
	}
}

// TestFollowersEqualAListing changes items and definitions at random. Followers of different listings must always have the listed items.
func TestFollowersEqualAListing(t *testing.T) {
	w := newWorld(t)
	random := mathrand.New(mathrand.NewPCG(1, 2))
	scope, err := library.ParseTokenScope("approval_status:app")
	if err != nil {
		t.Fatal(err)
	}
	filter := library.Filter{UUID: "11111111-2222-4333-8444-555555555555", ID: 7, Name: "wall", Query: "approval_status:app", Public: true}
	w.apply(library.Definition{Filter: &filter})
	public, scoped, walled := w.listing("approval_status:pen"), w.listing("text:beach"), w.listing("*:*")
	public.Read.Audience = query.Public
	scoped.Read.Audience, scoped.Read.Scope, scoped.Narrowed = query.Public, scope, true
	walled.Read.Query, walled.Read.Filter = nil, &library.FilterRef{UUID: filter.UUID}
	tagged := w.listing("tags.vibe.key:calm")
	followers := []*follower{
		{listing: w.listing("approval_status:app"), limit: 3}, {listing: public, limit: 1}, {listing: scoped, limit: 2}, {listing: walled, limit: 100},
		{listing: tagged, limit: 5},
	}
	statuses := []string{item.Approved, item.Rejected, item.Pending}
	for step := range 150 {
		for range random.IntN(6) {
			id := item.ID(1 + random.IntN(12))
			switch random.IntN(4) {
			case 0:
				if _, err := w.Write(t.Context(), shop, []library.Mutation{{Delete: true, ID: id}}); err != nil {
					t.Fatal(err)
				}
			default:
				w.write(put(id, statuses[random.IntN(3)], fmt.Sprint(random.IntN(3))))
			}
		}
		switch random.IntN(20) {
		case 0:
			filter.Query = []string{"approval_status:app", "approval_status:rej"}[random.IntN(2)]
			w.apply(library.Definition{Filter: &filter})
		case 1:
			w.apply(library.Definition{Owner: owner(library.KindTag, "calm"), Tag: &library.TagRule{
				Tag: item.Tag{Namespace: "vibe", Key: "calm"}, Selector: fmt.Sprintf("id:[1 TO %d]", 1+random.IntN(12)),
			}})
		}
		for i, f := range followers {
			if step > 0 && random.IntN(2) == 0 {
				continue
			}
			f.catchUp(w)
			if diff := cmp.Diff(w.listed(f.listing), f.items); diff != "" {
				t.Fatalf("step %d, follower %d (-listed +followed):\n%s", step, i, diff)
			}
		}
	}
}

// TestPages checks the limit, the order and the end of pages.
func TestPages(t *testing.T) {
	w := newWorld(t)
	l := w.listing("approval_status:app")
	start := w.now(l)
	w.write(put(5, item.Approved, ""), put(3, item.Rejected, ""))
	w.write(put(9, item.Approved, ""))
	w.write(put(5, item.Approved, "again"))
	next := w.expect(l, start, 2, "-3 +5 more")
	next = w.expect(l, next, 2, "+5 +9")
	w.expect(l, next, 2, "")
	w.expect(l, start, 3, "-3 +5 +9")
	w.write(library.Mutation{Delete: true, ID: 9})
	w.expect(l, next, 3, "-9")
	if page := w.read(request(l, start, 3)); page.Total != 1 || string(page.Changes[1].Item) != w.listed(l)[5] {
		t.Errorf("the total is %d, and the item is %s", page.Total, page.Changes[1].Item)
	}
	ids := l
	ids.OnlyIDs = true
	if page := w.read(request(ids, start, 3)); told(page) != "-3 +5 -9" || page.Changes[1].Item != nil {
		t.Errorf("without items: %+v", page)
	}
}

// TestHiddenChangesTellNothing compares two libraries with the same visible changes. In one of them, the changes have others between them that
// the caller may not notice. The pages must be equal, and no two cursors may have different lengths or the same text.
func TestHiddenChangesTellNothing(t *testing.T) {
	scope, err := library.ParseTokenScope("approval_status:app")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		adjust func(*Listing)
		hide   func(w *world, n int)
	}{
		"private members": {
			func(l *Listing) { l.Read.Audience = query.Public },
			func(w *world, n int) { w.write(put(100, item.Approved, fmt.Sprint("note ", n))) },
		},
		"outside the scope": {
			func(l *Listing) { l.Read.Scope, l.Narrowed = scope, true },
			func(w *world, n int) { w.write(put(item.ID(200+n), item.Pending, "")) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			random := mathrand.New(mathrand.NewPCG(3, 4))
			plain, busy := newWorld(t), newWorld(t)
			worlds := []*world{plain, busy}
			l, cursors, seen, hidden := plain.listing("*:*"), map[*world]string{}, map[string]bool{}, 0
			tc.adjust(&l)
			for _, w := range worlds {
				w.write(put(100, item.Approved, ""))
				cursors[w] = w.now(l)
			}
			for range 30 {
				for range random.IntN(8) {
					for range random.IntN(30) * random.IntN(2) {
						hidden++
						tc.hide(busy, hidden)
					}
					change := put(item.ID(1+random.IntN(5)), item.Approved, "")
					change.Put.Campaign = new(int64(random.IntN(1000)))
					plain.write(change)
					busy.write(change)
				}
				limit := 1 + random.IntN(4)
				pages := map[*world]*Page{}
				for _, w := range worlds {
					page := w.read(request(l, cursors[w], limit))
					pages[w], cursors[w] = page, page.Next
					if seen[page.Next] || len(page.Next) != len(cursors[plain]) {
						t.Fatalf("the cursor is %s (%d characters), want a new one with %d", page.Next, len(page.Next), len(cursors[plain]))
					}
					seen[page.Next] = true
				}
				if a, b := told(pages[plain]), told(pages[busy]); a != b || pages[plain].Total != pages[busy].Total {
					t.Fatalf("pages of %d: %q of %d, with hidden changes %q of %d", limit, a, pages[plain].Total, b, pages[busy].Total)
				}
			}
		})
	}
}

// TestNarrowedCallers checks that a narrowed caller gets no items outside the listing, and notices by the total that one has left.
func TestNarrowedCallers(t *testing.T) {
	w := newWorld(t)
	scope, err := library.ParseTokenScope("approval_status:app")
	if err != nil {
		t.Fatal(err)
	}
	l := w.listing("*:*")
	l.Read.Scope, l.Narrowed = scope, true
	w.write(put(1, item.Approved, ""), put(2, item.Approved, ""))
	next := w.now(l)
	w.write(put(2, item.Rejected, ""), put(3, item.Pending, ""))
	r := request(l, next, 10)
	r.Wait = time.Minute
	page := w.read(r) // returns at once, because the total has changed
	if told(page) != "" || page.Total != 1 {
		t.Errorf("%q of %d", told(page), page.Total)
	}
	w.write(put(3, item.Approved, ""))
	w.expect(l, page.Next, 10, "+3")
}

// scoped returns the listing of a caller who may see the public members of the items that a scope matches.
func (w *world) scoped(scope string) Listing {
	parsed, err := library.ParseTokenScope(scope)
	if err != nil {
		w.t.Fatal(err)
	}
	l := w.listing("*:*")
	l.Read.Scope, l.Read.Audience, l.Narrowed = parsed, query.Public, true
	return l
}

// TestTotalThatDrifts checks that the total ends no wait if it can change without a change of an item that the caller may see. Otherwise, the
// next change of a hidden item would end the wait.
func TestTotalThatDrifts(t *testing.T) {
	for scope, want := range map[string]string{
		"submission.note:a": "+2 +3", "tags.vibe.key:noted": "+2 +3", "_exists_:tags": "+2 +3",
		"approval_status:app": "", // item 1 has left
	} {
		t.Run(scope, func(t *testing.T) {
			w := newWorld(t)
			w.apply(library.Definition{Owner: owner(library.KindTag, "noted"), Tag: &library.TagRule{
				Tag: item.Tag{Namespace: "vibe", Key: "noted"}, Selector: "submission.note:a",
			}})
			l := w.scoped(scope)
			w.write(put(1, item.Approved, "a"))
			r := request(l, w.now(l), 10)
			if want == "" {
				w.write(put(1, item.Rejected, "a"))
			} else {
				w.write(put(1, item.Approved, "b"), put(9, item.Pending, ""))
			}
			w.seen = func(context.Context, *library.ItemChanges) {
				w.seen = nil
				w.write(put(2, item.Approved, "a"), put(3, item.Approved, "a"))
			}
			r.Wait = time.Minute
			if page := w.read(r); told(page) != want {
				t.Errorf("the wait ended with %q of %d, want %q", told(page), page.Total, want)
			}
		})
	}
}

// TestResets checks that everything except items that can change a listing makes its followers list it again.
func TestResets(t *testing.T) {
	w := newWorld(t)
	filter := library.Filter{UUID: "11111111-2222-4333-8444-555555555555", ID: 7, Name: "wall", Query: "approval_status:app", Public: true}
	w.apply(library.Definition{Filter: &filter})
	l := w.listing("*:*")
	l.Read.Query, l.Read.Filter = nil, &library.FilterRef{UUID: filter.UUID}
	next := w.now(l)
	again := func(what string) {
		t.Helper()
		page := w.read(request(l, next, 10))
		if !page.Reset {
			t.Errorf("no reset after %s", what)
		}
		next = w.expect(l, page.Next, 10, "")
	}
	next = w.expect(l, next, 10, "")
	filter.Query = "approval_status:rej"
	w.apply(library.Definition{Filter: &filter})
	again("a change of the filter")
	filter.Name = "another name"
	w.apply(library.Definition{Filter: &filter})
	next = w.expect(l, next, 10, "")
	w.apply(library.Definition{Owner: owner(library.KindTag, "calm"), Tag: &library.TagRule{Tag: item.Tag{Namespace: "vibe", Key: "calm"}, Items: []item.ID{1}}})
	again("a new tag rule")
	w.apply(library.Definition{Owner: owner(library.KindUnit, "boots"), Unit: &library.UnitRule{
		Unit: item.Unit{ID: library.UnitID(shop, "shop", "boots"), Name: "Boots", Managed: true, CreatedOn: "2026-01-02T00:00:00Z"},
	}})
	again("a new unit")
	if _, err := w.Remove(t.Context(), []library.Owner{owner(library.KindTag, "calm")}); err != nil {
		t.Fatal(err)
	}
	again("the removal of a tag rule")
	scope, err := library.ParseTokenScope("approval_status:pen")
	if err != nil {
		t.Fatal(err)
	}
	l.Read.Scope, l.Narrowed = scope, true
	again("a change of the scope")
	l.Read.Audience = query.Public
	again("a change of the audience")
	l.Read.BaseURL = "https://elsewhere.example"
	again("a change of the prefix of short links")

	if _, err := w.EditFilter(t.Context(), shop, library.FilterRef{UUID: filter.UUID}, func(library.FilterRecord) (*library.Filter, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := w.feed.Read(t.Context(), request(l, next, 10)); !errors.Is(err, library.ErrNotFound) {
		t.Errorf("a deleted filter: %v", err)
	}
}

// TestResetsEveryMinute checks which listings are listed again every minute: those that depend on more than their items.
func TestResetsEveryMinute(t *testing.T) {
	w := newWorld(t)
	scope := func(text string) *library.TokenScope {
		s, err := library.ParseTokenScope(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	stored := func(uuid, text string) *library.FilterRef {
		w.apply(library.Definition{Filter: &library.Filter{UUID: uuid, ID: int64(len(text)), Name: text, Query: text, Public: true}})
		return &library.FilterRef{UUID: uuid}
	}
	noted := stored("11111111-2222-4333-8444-555555555555", "submission.note:a")
	for name, tc := range map[string]struct {
		read  library.Read
		query string
		again bool
	}{
		"items only":                      {query: "approval_status:app"},
		"the time":                        {query: "created_on:[now-1d TO now]", again: true},
		"other items":                     {query: "beech~", again: true},
		"a private field":                 {query: "submission.note:a"},
		"the time, in a scope":            {query: "*:*", read: library.Read{Scope: scope("created_on:[now-1d TO now]")}, again: true},
		"a private field, public":         {read: library.Read{Filter: noted, Audience: query.Public}, again: true},
		"a private field, in a filter":    {read: library.Read{Filter: noted}},
		"a private scope, public":         {query: "*:*", read: library.Read{Scope: scope("submission.note:a"), Audience: query.Public}, again: true},
		"a private scope, private caller": {query: "*:*", read: library.Read{Scope: scope("submission.note:a")}},
	} {
		t.Run(name, func(t *testing.T) {
			l := Listing{Read: tc.read}
			l.Read.Property = shop
			if l.Read.Audience == 0 && !strings.HasSuffix(name, ", public") {
				l.Read.Audience = query.Private
			}
			if tc.query != "" {
				l.Read.Query = parse(t, tc.query)
			}
			next := w.expect(l, w.now(l), 1, "")
			w.clock.Advance(time.Minute)
			want := ""
			if tc.again {
				want = "reset"
			}
			w.expect(l, next, 1, want)
		})
	}
	l := w.listing("*:*")
	next := w.now(l)
	w.apply(library.Definition{Owner: owner(library.KindTag, "new"), Tag: &library.TagRule{Tag: item.Tag{Namespace: "vibe", Key: "new"}, Selector: "created_on:[now-1d TO now]"}})
	next = w.expect(l, next, 1, "reset")
	w.clock.Advance(time.Minute)
	w.expect(l, next, 1, "reset")
}

// TestCursors checks that a cursor works only for its listing.
func TestCursors(t *testing.T) {
	w := newWorld(t)
	l := w.listing("approval_status:app")
	next := w.now(l)
	where := l
	where.Read.Where = parse(t, "text:beach")
	for name, r := range map[string]Request{
		"another query":  request(w.listing("approval_status:rej"), next, 1),
		"a second query": request(where, next, 1),
		"a damaged one":  request(l, next[:20]+"A"+next[21:], 1),
		"a short one":    request(l, next[:20], 1),
		"no cursor":      request(l, "?", 1),
	} {
		if _, err := w.feed.Read(t.Context(), r); !errors.As(err, new(*library.CursorError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.Library.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestManyClauses checks the changes of a listing whose query leaves little room for further clauses.
// TestLongScansRunOneByOne checks that two callers who see none of many changes do not read them at the same time.
func TestLongScansRunOneByOne(t *testing.T) {
	w := newWorld(t)
	l := w.listing("approval_status:app")
	l.Narrowed = true
	since := w.now(l)
	for id := item.ID(1); id <= (longScan-5)*maxScanned; {
		var hidden []library.Mutation
		for range 1000 {
			hidden = append(hidden, put(id, item.Pending, ""))
			id++
		}
		w.write(hidden...)
	}
	type caller struct{}
	var steps [2]atomic.Int64
	var ended atomic.Bool
	entered, followed := make(chan struct{}), make(chan struct{})
	w.seen = func(ctx context.Context, got *library.ItemChanges) {
		who := ctx.Value(caller{}).(int)
		n := steps[who].Add(1)
		switch {
		case who == 0 && n == longScan:
			close(entered)
			<-followed
		case who == 0 && !got.More:
			ended.Store(true)
		case who == 1 && n == longScan-1:
			close(followed)
		case who == 1 && n >= longScan && !ended.Load():
			t.Errorf("step %d of the second scan runs during the first", n)
		}
	}
	var both sync.WaitGroup
	scan := func(who int) {
		page, err := w.feed.Read(context.WithValue(t.Context(), caller{}, who), request(l, since, 1))
		if err != nil || told(page) != "" {
			t.Errorf("caller %d: %+v, error %v", who, page, err)
		}
	}
	both.Go(func() { scan(0) })
	<-entered
	both.Go(func() { scan(1) })
	both.Wait()
}

func TestManyClauses(t *testing.T) {
	w := newWorld(t)
	l := w.listing("*:*")
	many := query.Bool{}
	for i := range query.MaxClauses - 10 {
		many.Clauses = append(many.Clauses, query.Clause{Occur: query.Should, Node: query.FieldTerm("id", fmt.Sprint(1+i))})
	}
	l.Read.Where = many
	next := w.now(l)
	var muts []library.Mutation
	var want []string
	for id := range item.ID(60) {
		muts = append(muts, put(1+id, item.Approved, ""))
		want = append(want, fmt.Sprint("+", 1+id))
	}
	w.write(append(muts, put(5000, item.Approved, ""))...)
	w.expect(l, next, 100, strings.Join(append(want, "-5000"), " "))
}

// TestWaitersShareReads checks that callers with the same listing and position share the work.
func TestWaitersShareReads(t *testing.T) {
	const callers = 40
	w := newWorld(t)
	l := w.listing("approval_status:app")
	next := w.now(l)
	w.gate = make(chan struct{})
	asked := make(chan struct{}, callers)
	pages := make([]*Page, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			r := request(l, next, 10)
			r.Wait = time.Minute
			r.Listing = func() (Listing, error) {
				asked <- struct{}{}
				return l, nil
			}
			var err error
			if pages[i], err = w.feed.Read(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
	for range callers {
		<-asked
	}
	for range 1000 {
		runtime.Gosched() // callers that have not reached the shared read yet read alone, which is slower but correct
	}
	w.reads.Store(0)
	w.write(put(1, item.Approved, ""))
	close(w.gate)
	all.Wait()
	cursors := map[string]bool{}
	for _, page := range pages {
		if page == nil || told(page) != "+1" {
			t.Fatalf("a waiting caller got %+v", page)
		}
		cursors[page.Next] = true
	}
	if len(cursors) != callers {
		t.Errorf("%d callers have %d cursors", callers, len(cursors))
	}
	if n := w.reads.Load(); n > callers {
		t.Errorf("%d reads for %d callers", n, callers)
	}
}

// TestWaits checks what ends a wait.
func TestWaits(t *testing.T) {
	w := newWorld(t)
	l := w.listing("approval_status:app")
	next := w.now(l)
	waiting := func(change func()) (*Page, error) {
		t.Helper()
		r := request(l, next, 10)
		r.Wait = time.Hour
		asked := make(chan struct{})
		r.Listing = sync.OnceValues(func() (Listing, error) { close(asked); return l, nil })
		type result struct {
			page *Page
			err  error
		}
		ended := make(chan result, 1)
		go func() {
			page, err := w.feed.Read(t.Context(), r)
			ended <- result{page, err}
		}()
		<-asked
		change()
		got := <-ended
		return got.page, got.err
	}
	if page, err := waiting(func() { w.write(put(1, item.Approved, "")) }); err != nil || told(page) != "+1" {
		t.Errorf("a change: %+v, %v", page, err)
	}

	// A changed right must end the wait.
	refused := errors.New("refused")
	r := request(l, w.now(l), 10)
	r.Wait = time.Hour
	calls := 0
	r.Listing = func() (Listing, error) {
		if calls++; calls > 1 {
			return Listing{}, refused
		}
		return l, nil
	}
	if _, err := w.feed.Read(t.Context(), r); !errors.Is(err, refused) || calls != 2 {
		t.Errorf("a changed right: %v after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r = request(l, w.now(l), 10)
	r.Wait, r.Listing = time.Hour, func() (Listing, error) { cancel(); return l, nil }
	if _, err := w.feed.Read(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has gone: %v", err)
	}

	next = w.now(l)
	if page, err := waiting(w.feed.Stop); err != nil || told(page) != "" || page.Total != 1 {
		t.Errorf("a stop: %+v, %v", page, err)
	}
	if page, err := waiting(func() {}); err != nil || told(page) != "" {
		t.Errorf("after a stop: %+v, %v", page, err)
	}
}

// TestRun checks that searches run within Request.Run, and that waiting does not.
func TestRun(t *testing.T) {
	w := newWorld(t)
	l := w.listing("approval_status:app")
	next := w.now(l)
	w.write(put(1, item.Approved, ""))
	w.reads.Store(0)
	runs := int64(0)
	r := request(l, next, 10)
	r.Run = func(search func(context.Context) error) error {
		runs++
		return search(t.Context())
	}
	w.read(r)
	if n := w.reads.Load(); n == 0 || n != runs {
		t.Errorf("%d reads in %d runs", n, runs)
	}
	expensive := errors.New("too expensive")
	r.Run = func(func(context.Context) error) error { return expensive }
	if _, err := w.feed.Read(t.Context(), r); !errors.Is(err, expensive) {
		t.Errorf("the error of Run: %v", err)
	}
}

// TestLostChanges checks that a follower lists a property again after it was purged and created again.
func TestLostChanges(t *testing.T) {
	w := newWorld(t)
	l := w.listing("*:*")
	next := w.now(l)
	w.write(put(1, item.Approved, ""))
	if _, err := w.Remove(t.Context(), []library.Owner{owner(library.KindProperty, "default")}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.feed.Read(t.Context(), request(l, next, 10)); !errors.Is(err, library.ErrNotFound) {
		t.Errorf("a deleted property: %v", err)
	}
	if err := w.Purge(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	w.apply(library.Definition{Owner: owner(library.KindProperty, "default"), PropertySpec: &library.Property{PlatformPageID: 1}})
	w.expect(l, next, 10, "reset")
}
