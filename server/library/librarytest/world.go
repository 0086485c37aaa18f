package librarytest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// shop and wall are two properties that must be isolated from each other.
const (
	shop library.PropertyID = "shop/default"
	wall library.PropertyID = "wall/default"
)

const install = "cluster-uid"

// start is the time at which every test begins: a Saturday at noon, far from the boundaries of days, months and years.
var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is a library under test, with methods for tests. The methods fail the test on unexpected errors.
type world struct {
	*testing.T
	open  Factory
	dir   string
	clock *Clock
	lib   library.Library
}

func newWorld(t *testing.T, open Factory) *world {
	w := &world{T: t, open: open, dir: t.TempDir(), clock: NewClock(start)}
	w.lib = open(t, w.dir, w.clock.Now)
	t.Cleanup(func() {
		if err := w.lib.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return w
}

// restart closes the library and opens it again.
func (w *world) restart() {
	w.Helper()
	if err := w.lib.Close(); err != nil {
		w.Fatalf("close: %v", err)
	}
	w.lib = w.open(w.T, w.dir, w.clock.Now)
}

func (w *world) ctx() context.Context { return w.Context() }

// serve applies the definition of the property shop.
func (w *world) serve() { w.Helper(); w.accept(property(shop)) }

// apply applies definitions and returns the results, including refusals.
func (w *world) apply(defs ...library.Definition) []library.Result {
	w.Helper()
	results, err := w.lib.Apply(w.ctx(), defs)
	if err != nil {
		w.Fatalf("apply: %v", err)
	}
	if len(results) != len(defs) {
		w.Fatalf("apply of %d definitions gave %d results", len(defs), len(results))
	}
	return results
}

// accept applies definitions, and fails the test if the library refuses one.
func (w *world) accept(defs ...library.Definition) []library.Result {
	w.Helper()
	results := w.apply(defs...)
	for i, r := range results {
		if r.Err != nil {
			w.Fatalf("apply %s: %v", defs[i].Owner, r.Err)
		}
	}
	return results
}

func (w *world) remove(owners ...library.Owner) int {
	w.Helper()
	n, err := w.lib.Remove(w.ctx(), owners)
	if err != nil {
		w.Fatalf("remove: %v", err)
	}
	return n
}

// write sends mutations of shop to the library and returns the outcomes, including refusals.
func (w *world) write(muts ...library.Mutation) []library.Outcome {
	w.Helper()
	outcomes, err := w.lib.Write(w.ctx(), shop, muts)
	if err != nil {
		w.Fatalf("write: %v", err)
	}
	if len(outcomes) != len(muts) {
		w.Fatalf("write of %d mutations gave %d outcomes", len(muts), len(outcomes))
	}
	return outcomes
}

// change sends mutations of shop to the library, and fails the test if it refuses one.
func (w *world) change(muts ...library.Mutation) []library.Outcome {
	w.Helper()
	outcomes := w.write(muts...)
	for i, o := range outcomes {
		if o.Err != nil {
			w.Fatalf("mutation %d: %v", i, o.Err)
		}
	}
	return outcomes
}

// put stores items in shop.
func (w *world) put(items ...*item.Item) {
	w.Helper()
	muts := make([]library.Mutation, len(items))
	for i, it := range items {
		muts[i] = library.Mutation{Put: it}
	}
	w.change(muts...)
}

func (w *world) erase(ids ...item.ID) {
	w.Helper()
	for _, id := range ids {
		w.change(library.Mutation{Delete: true, ID: id})
	}
}

func (w *world) tag(namespace, key string, ids ...item.ID) {
	w.Helper()
	w.change(library.Mutation{Tag: &item.Tag{Namespace: namespace, Key: key}, IDs: ids})
}

// untag removes a tag of marketer_tags from items.
func (w *world) untag(key string, ids ...item.ID) {
	w.Helper()
	w.change(library.Mutation{Untag: &item.Tag{Namespace: "marketer_tags", Key: key}, IDs: ids})
}

// patch changes an item with a JSON merge patch.
func (w *world) patch(id item.ID, body string) {
	w.Helper()
	w.change(library.Mutation{Patch: w.parsePatch(body), ID: id})
}

func (w *world) parsePatch(body string) *item.Patch {
	w.Helper()
	p, err := item.ParsePatch([]byte(body))
	if err != nil {
		w.Fatalf("parse patch %s: %v", body, err)
	}
	return p
}

// removeFilter deletes a filter of shop that was created over HTTP.
func (w *world) removeFilter(ref library.FilterRef) error {
	_, err := w.lib.EditFilter(w.ctx(), shop, ref, func(library.FilterRecord) (*library.Filter, error) { return nil, nil })
	return err
}

// query parses a query. For "", it returns nil.
func (w *world) query(q string) query.Node {
	w.Helper()
	if q == "" {
		return nil
	}
	parsed, err := query.Parse(q)
	if err != nil {
		w.Fatalf("parse %q: %v", q, err)
	}
	return parsed.Root
}

func (w *world) order(s string) query.Order {
	w.Helper()
	o, err := query.ParseOrder(s)
	if err != nil {
		w.Fatalf("parse order %q: %v", s, err)
	}
	return o
}

// search returns a Read of shop for a query, with the rights of a READ-WRITE token, newest first.
func (w *world) search(q string) library.Read {
	w.Helper()
	return library.Read{Property: shop, Audience: query.Private, Query: w.query(q), Order: w.order("created_on:desc"), Limit: 500}
}

// page reads a page, and fails the test if that returns an error.
func (w *world) page(r library.Read) *library.Page {
	w.Helper()
	p, err := w.lib.Read(w.ctx(), r)
	if err != nil {
		w.Fatalf("read: %v", err)
	}
	if shown := len(w.items(p)); shown != p.Count {
		w.Fatalf("a page with Count %d shows %d items", p.Count, shown)
	}
	return p
}

// shownItem holds the members of an encoded item that the tests use.
type shownItem struct {
	ID         item.ID      `json:"id"`
	Units      []shownUnit  `json:"activate_units"`
	Default    shownUnit    `json:"default_activate_unit"`
	Submission any          `json:"submission"`
	Status     string       `json:"approval_status"`
	Link       string       `json:"shortened_permalink"`
	Modified   string       `json:"last_modified"`
	Content    shownContent `json:"content"`
}

type shownContent struct {
	Text string `json:"text"`
}

type shownUnit struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Managed  bool   `json:"managed"`
	Archived bool   `json:"archived"`
}

func (w *world) items(p *library.Page) []shownItem {
	w.Helper()
	var items []shownItem
	if err := json.Unmarshal([]byte("["+string(p.Items)+"]"), &items); err != nil {
		w.Fatalf("the items of a page are not JSON: %v\n%s", err, p.Items)
	}
	return items
}

func (w *world) ids(p *library.Page) []item.ID {
	w.Helper()
	ids := []item.ID{}
	for _, it := range w.items(p) {
		ids = append(ids, it.ID)
	}
	return ids
}

// expect reads a page and compares the ids, in order, and the total.
func (w *world) expect(what string, r library.Read, want ...item.ID) {
	w.Helper()
	p := w.page(r)
	if got := w.ids(p); !slices.Equal(got, want) && len(got)+len(want) > 0 {
		w.Errorf("%s: items %v, want %v", what, got, want)
	}
	if r.Limit >= len(want) && r.Offset == 0 && r.After == "" && p.Total != int64(len(want)) {
		w.Errorf("%s: total %d, want %d", what, p.Total, len(want))
	}
}

// finds compares the items that a query finds with the wanted items, ignoring the order.
func (w *world) finds(q string, want ...item.ID) {
	w.Helper()
	got := w.ids(w.page(w.search(q)))
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) && len(got)+len(want) > 0 {
		w.Errorf("%s finds %v, want %v", q, got, want)
	}
}

// show returns one item as a READ-WRITE token sees it.
func (w *world) show(id item.ID) shownItem {
	w.Helper()
	r := w.search("*:*")
	r.Query = query.FieldTerm("id", itoa(id))
	page := w.page(r)
	items := w.items(page)
	if len(items) != 1 {
		w.Fatalf("item %d is shown %d times", id, len(items))
	}
	alone, err := w.lib.ReadItem(w.ctx(), library.ItemRead{Property: r.Property, ID: id, Audience: r.Audience, BaseURL: r.BaseURL})
	if err != nil {
		w.Fatalf("item %d alone: %v", id, err)
	}
	w.equal("the item alone", string(alone), string(page.Items))
	return items[0]
}

func (w *world) tagsOf(id item.ID) []string {
	w.Helper()
	tags, err := w.lib.ItemTags(w.ctx(), shop, id)
	if err != nil {
		w.Fatalf("tags of item %d: %v", id, err)
	}
	out := []string{}
	for _, t := range tags {
		out = append(out, t.Namespace+":"+t.Key)
	}
	return out
}

func (w *world) expectTags(id item.ID, want ...string) {
	w.Helper()
	if got := w.tagsOf(id); !slices.Equal(got, want) && len(got)+len(want) > 0 {
		w.Errorf("item %d carries %v, want %v", id, got, want)
	}
}

func (w *world) expectUnits(id item.ID, want ...int64) {
	w.Helper()
	got := []int64{}
	for _, u := range w.show(id).Units {
		got = append(got, u.ID)
	}
	if !slices.Equal(got, want) && len(got)+len(want) > 0 {
		w.Errorf("item %d shows the units %v, want %v", id, got, want)
	}
}

// errorIs fails the test unless err wraps target.
func (w *world) errorIs(what string, err, target error) {
	w.Helper()
	if !errors.Is(err, target) {
		w.Errorf("%s: error %v, want %v", what, err, target)
	}
}

// errorAs returns the error of type E that err wraps, and fails the test if there is none.
func errorAs[E error](w *world, what string, err error) E {
	w.Helper()
	e, ok := errors.AsType[E](err)
	if !ok {
		w.Errorf("%s: error %v, want a %v", what, err, reflect.TypeFor[E]())
	}
	return e
}

// wantError fails the test if err wraps no error of type E.
func wantError[E error](w *world, what string, err error) {
	w.Helper()
	_ = errorAs[E](w, what, err)
}

func (w *world) equal(what string, got, want any) {
	w.Helper()
	if !reflect.DeepEqual(got, want) {
		w.Errorf("%s: %v, want %v", what, got, want)
	}
}

func (w *world) version() uint64 { return w.lib.State(w.ctx()).Version }
