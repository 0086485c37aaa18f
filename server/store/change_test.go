package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

const wall library.PropertyID = "shop/wall"

func wallProperty() library.Definition {
	d := shopProperty()
	d.Property, d.Owner.Name = wall, "wall"
	return d
}

// apply applies definitions, and fails the test if the store refuses one.
func apply(t testing.TB, l *opened, defs ...library.Definition) {
	t.Helper()
	results, err := l.Apply(t.Context(), defs)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

// put returns a mutation that stores an item with an id and a short code.
func put(id item.ID, text, code string) library.Mutation {
	m := post(text)
	m.Put.ID, m.Put.ShortCode, m.Replace = id, code, true
	return m
}

// TestChangesPassedToTheIndex checks the Change of each batch: it must contain every changed item once, in its final state.
func TestChangesPassedToTheIndex(t *testing.T) {
	type told struct {
		ID      item.ID
		Text    string
		Gone    bool
		Existed bool
	}
	tag := item.Tag{Namespace: "vibe", Key: "bold"}
	for name, c := range map[string]struct {
		muts []library.Mutation
		want []told
	}{
		"new, replaced and deleted": {
			[]library.Mutation{put(9, "nine", ""), put(1, "uno", ""), {Delete: true, ID: 2}},
			[]told{{ID: 9, Text: "nine"}, {ID: 1, Text: "uno", Existed: true}, {ID: 2, Gone: true, Existed: true}},
		},
		"changed twice": {
			[]library.Mutation{put(3, "tres", ""), put(4, "x", ""), put(3, "drei", "")},
			[]told{{ID: 3, Text: "drei", Existed: true}, {ID: 4, Text: "x"}},
		},
		"came and went": {
			[]library.Mutation{put(5, "five", ""), {Delete: true, ID: 5}, put(6, "six", "")},
			[]told{{ID: 6, Text: "six"}},
		},
		"deleted and made anew": {
			[]library.Mutation{{Delete: true, ID: 3}, put(3, "again", "")},
			[]told{{ID: 3, Text: "again", Existed: true}},
		},
		"tagged": {
			[]library.Mutation{put(7, "seven", ""), {Tag: &tag, IDs: []item.ID{7, 1, 7}}},
			[]told{{ID: 7, Text: "seven"}, {ID: 1, Text: "one", Existed: true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := mustOpen(t, Options{Dir: t.TempDir()})
			write(t, l, put(1, "one", ""), put(2, "two", ""), put(3, "three", ""))
			before := l.Version()
			write(t, l, c.muts...)
			change := l.items.last(t)
			if change.Version != before+1 || l.Version() != before+1 || l.PropertyVersion(shop) != before+1 {
				t.Errorf("batch %d after %d; the store is at %d, the property at %d", change.Version, before, l.Version(), l.PropertyVersion(shop))
			}
			if len(change.Properties) != 1 || change.Properties[0].Property != shop || change.Properties[0].Before != change.Properties[0].After {
				t.Fatalf("properties %+v, want the one with the items, and its catalogue as it was", change.Properties)
			}
			var got []told
			for _, it := range change.Properties[0].Items {
				one := told{ID: it.ID, Gone: it.Item == nil, Existed: it.Existed}
				if it.Item != nil {
					one.Text = it.Item.Content.Text
				}
				got = append(got, one)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			if n := int64(len(slices.Collect(ids(t, l, shop)))); n != l.Count(shop) || n != l.items.count("") {
				t.Errorf("%d items are stored, %d counted, %d in the index", n, l.Count(shop), l.items.count(""))
			}
		})
	}
}

// ids yields the ids of a property.
func ids(t *testing.T, l *opened, p library.PropertyID) func(func(item.ID) bool) {
	t.Helper()
	return func(yield func(item.ID) bool) {
		for id, err := range l.ItemIDs(t.Context(), p, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if !yield(id) {
				return
			}
		}
	}
}

func TestAnIndexIsToldOfCatalogues(t *testing.T) {
	l := mustOpen(t, Options{Dir: t.TempDir()})
	apply(t, l, wallProperty())
	if c := l.items.last(t); len(c.Properties) != 1 || c.Properties[0].Property != wall || c.Properties[0].Before != nil || c.Properties[0].After == nil {
		t.Errorf("a new property: %+v", c.Properties)
	}
	tag := library.Definition{
		Property: wall, Owner: library.Owner{Install: "cluster", Kind: library.KindTag, Namespace: "shop", Name: "summer"},
		Tag: &library.TagRule{Tag: item.Tag{Namespace: "vibe", Key: "bold"}, Items: []item.ID{3, 1, 3}, Selector: "created_on:[now-1d TO *]"},
	}
	apply(t, l, tag)
	c := l.items.last(t).Properties[0]
	if c.Before == c.After || len(c.After.TagRules) != 1 {
		t.Fatalf("a new rule: %+v", c)
	}
	rule := c.After.TagRules[0]
	if !slices.Equal(rule.IDs, []item.ID{1, 3}) || !rule.Names(3) || rule.Names(2) || !rule.Volatile || rule.Tag != tag.Tag.Tag {
		t.Errorf("the rule: %+v", rule)
	}
	apply(t, l, library.Definition{
		Property: wall, Owner: library.Owner{Install: "cluster", Kind: library.KindUnit, Namespace: "shop", Name: "mug"},
		Unit: &library.UnitRule{Unit: item.Unit{ID: 5, Name: "Mug"}, Default: true},
	})
	c = l.items.last(t).Properties[0]
	if c.After.TagRules[0] != rule || c.After.Default == nil || c.After.Default != c.After.Unit(5) || c.After != l.Catalogue(wall) {
		t.Errorf("a unit beside the rule: %+v", c.After)
	}
	tag.Tag = &library.TagRule{Tag: tag.Tag.Tag, Items: []item.ID{1}}
	apply(t, l, tag)
	changed := l.items.last(t).Properties[0].After.TagRules[0]
	if changed == rule || changed.Name == rule.Name || changed.Volatile {
		t.Errorf("another version of the rule: %+v after %+v", changed, rule)
	}
	version := l.Version()
	apply(t, l, tag)
	if l.Version() != version {
		t.Error("an equal definition made a batch")
	}
	write(t, l, put(1, "one", ""))
	if _, err := l.Remove(t.Context(), []library.Owner{shopProperty().Owner}); err != nil {
		t.Fatal(err)
	}
	if c := l.items.last(t).Properties; len(c) != 1 || c[0].After != nil || c[0].Before == nil {
		t.Errorf("a property that is served no more: %+v", c)
	}
	if n := l.Count(shop); n != 1 || l.Catalogue(shop) != nil || !slices.Contains(l.Stored(), shop) {
		t.Errorf("%d items of it are there, stored: %v", n, l.Stored())
	}
	if err := l.Purge(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	if c := l.items.last(t); !slices.Equal(c.Purged, []library.PropertyID{shop}) || len(c.Properties) != 0 {
		t.Errorf("a purge: %+v", c)
	}
	if n := l.Count(shop); n != 0 || slices.Contains(l.Stored(), shop) || l.items.count("") != 0 {
		t.Errorf("%d items after the purge, stored: %v", n, l.Stored())
	}
}

func TestAnIndexThatRefuses(t *testing.T) {
	l := mustOpen(t, Options{Dir: t.TempDir()})
	write(t, l, put(1, "one", "code1"))
	version, refusal := l.Version(), errors.New("no")
	l.items.refuse = refusal
	if _, err := l.Write(t.Context(), shop, []library.Mutation{put(2, "two", "code2"), {Delete: true, ID: 1}}); !errors.Is(err, refusal) {
		t.Fatalf("error %v, want the index's", err)
	}
	if there, err := l.Has(shop, 2); there || err != nil || l.Version() != version || l.Count(shop) != 1 {
		t.Errorf("item 2 is there: %t, %v; version %d after %d", there, err, l.Version(), version)
	}
	l.checkLink(t, "code2", "")
	write(t, l, put(2, "two", "code2"))
	if l.Version() != version+1 || l.items.count("") != 2 {
		t.Errorf("version %d, %d items after the next write", l.Version(), l.items.count(""))
	}
}

// TestOneBadRequestOfAGroup puts a request that the index refuses at each position of a group that shares a commit. Only this request may
// fail, and each other request must get the reply that it would get without a group.
func TestOneBadRequestOfAGroup(t *testing.T) {
	const bad = "cannot be indexed"
	for at := range 8 {
		l := mustOpen(t, Options{Dir: t.TempDir()})
		l.items.unindexable = bad
		version := l.Version()
		var group []request
		outcomes := make([]library.Outcome, 10)
		for i := range outcomes {
			id := item.ID(i + 1)
			m := put(id, "good", fmt.Sprintf("code%d", id))
			switch i {
			case at:
				m.Put.Content.Text = bad
			case 8:
				m = put(item.ID(at+1), "good", "again") // the id of the refused item, which is free
			case 9:
				m = put(item.ID((at+1)%8+1), "good", "taken") // the id of a stored item
			}
			m.Replace = false
			group = append(group, request{
				shares: withItems, property: shop, mutations: []library.Mutation{m}, ctx: t.Context(), done: make(chan error, 1),
				stage: func(c *change) error {
					outcomes[i] = c.in(shop).Mutate(m)
					return nil
				},
			})
		}
		l.serve(group)
		for i, r := range group {
			err := <-r.done
			invalid, ok := errors.AsType[*item.InvalidError](err)
			switch {
			case i == at && (!ok || invalid.Member != "text"):
				t.Errorf("bad one at %d: it gets %v, want the index's error", at, err)
			case i != at && err != nil:
				t.Errorf("bad one at %d: request %d gets %v", at, i, err)
			case i == 9 && !errors.Is(outcomes[i].Err, library.ErrExists):
				t.Errorf("bad one at %d: an id that exists: %v", at, outcomes[i].Err)
			case i != at && i != 9 && outcomes[i].Err != nil:
				t.Errorf("bad one at %d: request %d: %v", at, i, outcomes[i].Err)
			}
		}
		if n := l.items.count(""); n != 8 || l.Count(shop) != 8 {
			t.Errorf("bad one at %d: %d items in the index, %d in the store; want 8", at, n, l.Count(shop))
		}
		if batches := l.Version() - version; batches > 4 {
			t.Errorf("bad one at %d: %d batches", at, batches)
		}
	}
}

// TestBadRequestsAmongConcurrentWriters runs concurrent writers, some of which write items that the index refuses.
func TestBadRequestsAmongConcurrentWriters(t *testing.T) {
	const bad, writers, rounds = "cannot be indexed", 16, 20
	l := mustOpen(t, Options{Dir: t.TempDir()})
	l.items.unindexable = bad
	var wg sync.WaitGroup
	for writer := range writers {
		wg.Go(func() {
			for round := range rounds {
				id := item.ID(1 + writer*rounds + round)
				m := put(id, "good", fmt.Sprintf("code%d", id))
				if id%7 == 0 {
					m.Put.Content.Text = bad
				}
				outcomes, err := l.Write(t.Context(), shop, []library.Mutation{m})
				_, refused := errors.AsType[*item.InvalidError](err)
				switch {
				case refused != (id%7 == 0), err != nil && !refused:
					t.Errorf("item %d: %v", id, err)
				case err == nil && outcomes[0].Err != nil:
					t.Errorf("item %d: %v", id, outcomes[0].Err)
				}
			}
		})
	}
	wg.Wait()
	const want = writers*rounds - writers*rounds/7
	if n := l.items.count("good"); n != want || l.Count(shop) != want {
		t.Errorf("%d items in the index, %d in the store; want %d", n, l.Count(shop), want)
	}
}

func link(m library.Mutation, n int) library.Mutation {
	m.Put.Content.OriginalURL = fmt.Sprintf("https://posts.example/%d", n)
	return m
}

func TestShortCodes(t *testing.T) {
	l := mustOpen(t, Options{Dir: t.TempDir()})
	apply(t, l, wallProperty())
	write(t, l, link(put(1, "one", "code1"), 1), link(put(2, "two", "code2"), 2))
	// An item does not get a code that another item already has in the same property, in another property, or in the same group.
	write(t, l, link(put(3, "three", "code1"), 3), link(put(4, "four", "code4"), 4), link(put(5, "five", "code4"), 5))
	if _, err := l.Write(t.Context(), wall, []library.Mutation{link(put(1, "wall", "code2"), 6)}); err != nil {
		t.Fatal(err)
	}
	check := func(want map[string]string) {
		t.Helper()
		for code, to := range want {
			l.checkLink(t, code, to)
		}
	}
	check(map[string]string{
		"code1": "https://posts.example/1", "code2": "https://posts.example/2", "code4": "https://posts.example/4", "": "",
	})
	seen := map[string]bool{}
	for _, at := range []place{{shop, 1}, {shop, 2}, {shop, 3}, {shop, 4}, {shop, 5}, {wall, 1}} {
		it, err := l.Item(at.property, at.id)
		if err != nil {
			t.Fatal(err)
		}
		if seen[it.ShortCode] || it.ShortCode == "" {
			t.Errorf("item %d has the code %q, which another one has", at.id, it.ShortCode)
		}
		seen[it.ShortCode] = true
		l.checkLink(t, it.ShortCode, it.Content.OriginalURL)
	}
	// An item keeps its code when it is replaced with an item whose code another item has.
	before, err := l.Item(shop, 3)
	if err != nil {
		t.Fatal(err)
	}
	write(t, l, link(put(3, "three", "code1"), 3))
	if after, err := l.Item(shop, 3); err != nil || after.ShortCode != before.ShortCode || after.LastModified != before.LastModified {
		t.Errorf("the code %q of %s became %q of %s (%v)", before.ShortCode, before.LastModified, after.ShortCode, after.LastModified, err)
	}
	// An item keeps its code when it is replaced with an item that has the same code. A new code replaces the old code.
	write(t, l, link(put(1, "uno", "code1"), 11), link(put(2, "dos", "code22"), 2), library.Mutation{Delete: true, ID: 4})
	check(map[string]string{"code1": "https://posts.example/11", "code2": "", "code22": "https://posts.example/2", "code4": ""})
	write(t, l, link(put(9, "nine", "code4"), 9))
	check(map[string]string{"code4": "https://posts.example/9"})
	if _, err := l.Remove(t.Context(), []library.Owner{shopProperty().Owner}); err != nil {
		t.Fatal(err)
	}
	check(map[string]string{"code1": "", "code4": ""})
	if err := l.Purge(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	apply(t, l, shopProperty())
	check(map[string]string{"code1": "", "code4": ""})
	write(t, l, link(put(1, "one", "code1"), 1))
	check(map[string]string{"code1": "https://posts.example/1"})
}

func TestReadingItems(t *testing.T) {
	l := mustOpen(t, Options{Dir: t.TempDir()})
	const n = 2*readChunk + 10
	muts := make([]library.Mutation, n)
	for i := range muts {
		muts[i] = put(item.ID(3*i+1), fmt.Sprint("text ", i), "")
	}
	write(t, l, muts...)
	next := item.ID(1)
	for it, err := range l.Items(t.Context(), shop) {
		if err != nil {
			t.Fatal(err)
		}
		if it.ID != next || it.Content.Text != fmt.Sprint("text ", (next-1)/3) {
			t.Fatalf("item %d is %q, want item %d", it.ID, it.Content.Text, next)
		}
		next += 3
	}
	if next != 3*n+1 {
		t.Errorf("the items end before %d", next)
	}
	if got := slices.Collect(ids(t, l, shop)); len(got) != n || got[0] != 1 || got[n-1] != 3*n-2 {
		t.Errorf("%d ids", len(got))
	}
	for id, err := range l.ItemIDs(t.Context(), shop, 5) {
		if id != 7 || err != nil {
			t.Errorf("from 5 on: %d, %v; want 7", id, err)
		}
		break
	}
	items, err := l.ItemsByID(shop, []item.ID{7, 8, 1})
	if err != nil || items[0].ID != 7 || items[1] != nil || items[2].ID != 1 {
		t.Errorf("by id: %v, %v", items, err)
	}
	if _, err := l.Item(shop, 8); !errors.Is(err, library.ErrNotFound) {
		t.Errorf("an item that is not there: %v", err)
	}
	if there, err := l.Has(shop, 7); !there || err != nil {
		t.Errorf("item 7: %t, %v", there, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range l.Items(ended, shop) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after the context: %v", err)
		}
	}
	if l.Memory() <= 0 {
		t.Errorf("the store says that it has %d bytes in memory", l.Memory())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Item(shop, 7); !errors.Is(err, library.ErrClosed) {
		t.Errorf("a closed store: %v", err)
	}
}

func TestKeysOfTheIndex(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	write(t, l, put(1, "one", ""))
	seen, err := l.IndexValue(seenKey)
	if err != nil || string(seen) != string(encodeNumber(l.Version())) {
		t.Errorf("the index has seen %v, %v; the store is at %d", seen, err, l.Version())
	}
	installed := false
	err = l.CommitIndex(func(keys *IndexBatch) (func(), error) {
		var err error
		for _, key := range []string{"a1", "a2", "a3", "b1"} {
			err = errors.Join(err, keys.Set([]byte(key), []byte("of "+key)))
		}
		return func() { installed = true }, errors.Join(err, keys.DeleteRange([]byte("a2"), []byte("a3")))
	})
	if err != nil || !installed {
		t.Fatalf("commit keys: %v, installed: %t", err, installed)
	}
	version := l.Version()
	keys := func(from, to string) string {
		t.Helper()
		found, err := l.IndexKeys([]byte(from), []byte(to))
		if err != nil {
			t.Fatal(err)
		}
		return string(bytes.Join(found, []byte(" ")))
	}
	if got := keys("a", "b"); got != "a1 a3" {
		t.Errorf("keys from a to b: %s", got)
	}
	if got := keys("", "\xff"); got != "a1 a3 b1 seen" {
		t.Errorf("all keys: %s", got)
	}
	refusal := errors.New("no")
	err = l.CommitIndex(func(keys *IndexBatch) (func(), error) { return nil, errors.Join(refusal, keys.Set([]byte("c"), nil)) })
	if value, missing := l.IndexValue([]byte("c")); !errors.Is(err, refusal) || value != nil || missing != nil {
		t.Errorf("a refused batch: %v; value %v, %v", err, value, missing)
	}
	if l.Version() != version {
		t.Error("keys of the index made a version")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	// Write to the store with another index, so that the first index misses a batch.
	other, err := Open(Options{Dir: dir}, none{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Write(t.Context(), shop, []library.Mutation{post("two")}); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := other.CommitIndex(func(*IndexBatch) (func(), error) { return nil, nil }); !errors.Is(err, library.ErrClosed) {
		t.Errorf("keys to a closed store: %v", err)
	}
	l, err = open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	seen, err = l.IndexValue(seenKey)
	if err != nil || string(seen) != string(encodeNumber(l.Version()-1)) {
		t.Errorf("the index has seen %v, %v; the store is at %d, want one batch more", seen, err, l.Version())
	}
	err = l.CommitIndex(func(keys *IndexBatch) (func(), error) { return nil, keys.DeleteRange(nil, []byte("\xff")) })
	if got := keys("", "\xff"); err != nil || got != "" {
		t.Errorf("all taken away: %v, %s left", err, got)
	}
}

func TestMarksOfOneGroup(t *testing.T) {
	l := mustOpen(t, Options{Dir: t.TempDir()})
	if err := l.SetMark(t.Context(), "loaded", "a"); err != nil {
		t.Fatal(err)
	}
	c := newChange(l.Store)
	for _, value := range []string{"b", "a"} {
		if err := setMark("loaded", value)(c); err != nil {
			t.Fatal(err)
		}
	}
	if c.marks["loaded"] != "a" {
		t.Errorf("the mark will be %q, want the last one set", c.marks["loaded"])
	}
}

func TestWritesUnderPressure(t *testing.T) {
	pressure := library.Relaxed
	l := mustOpen(t, Options{Dir: t.TempDir(), Pressure: func() library.Pressure { return pressure }})
	write(t, l, put(1, "one", ""), put(2, "two", ""))
	pressure = library.Tight
	write(t, l, put(3, "three", ""))
	pressure = library.Full
	outcomes, err := l.Write(t.Context(), shop, []library.Mutation{put(4, "four", ""), {Delete: true, ID: 1}})
	if err != nil || !errors.Is(outcomes[0].Err, library.ErrUnavailable) || outcomes[1].Err != nil {
		t.Errorf("%+v, %v; want the put refused and the deletion done", outcomes, err)
	}
}

// checkLink checks the target of a short link. want is "" if the link must not exist.
func (l *opened) checkLink(t *testing.T, code, want string) {
	t.Helper()
	_, got, err := l.ShortLink(t.Context(), code)
	if got != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, library.ErrNotFound) {
		t.Errorf("the link %q leads to %q, %v; want %q", code, got, err, want)
	}
}
