package store

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestAStoreOfVersion1IsUpgraded opens a store that Vitrine 0.1 created. The store has the property shop/default with 35 items, of which
// one was deleted, a definition of each kind and a definition that is not served, the property shop/outlet with 6 items without short
// codes, and the property shop/closed with 2 items, whose manifest was deleted.
func TestAStoreOfVersion1IsUpgraded(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "v1"))); err != nil {
		t.Fatal(err)
	}
	const outlet, closed library.PropertyID = "shop/outlet", "shop/closed"
	for _, round := range []string{"upgraded", "opened again"} {
		t.Run(round, func(t *testing.T) {
			l, err := open(Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}()
			s := l.State(t.Context())
			want := map[library.PropertyID]int64{shop: 35, outlet: 6, closed: 2}
			if diff := cmp.Diff(want, s.PropertyItems); diff != "" || s.Definitions != 9 || l.items.count("") != 43 {
				t.Errorf("%d definitions, %d items in the index; items (-want +got):\n%s", s.Definitions, l.items.count(""), diff)
			}
			if got := l.Properties(); !slices.Equal(got, []library.PropertyID{shop, outlet}) {
				t.Errorf("served: %v", got)
			}
			for code, want := range map[string]string{
				"code000000": "https://posts.example/0",
				"code000001": "", // pending
				"code000035": "", // deleted
				"closed0001": "", // not served
				"":           "",
			} {
				l.checkLink(t, code, want)
			}
			approved := 0
			for it, err := range l.Items(t.Context(), shop) {
				if err != nil {
					t.Fatal(err)
				}
				if it.ApprovalStatus == item.Approved {
					approved++
					l.checkLink(t, it.ShortCode, it.Content.OriginalURL)
				}
			}
			if approved == 0 {
				t.Error("no item is approved")
			}
			if has, err := l.HasTag(shop, item.Tag{Namespace: "marketer_tags", Key: "picked"}); err != nil || !has {
				t.Errorf("the tag is there: %t, %v", has, err)
			}
			if mark, err := l.Mark("install"); err != nil || mark != "cluster" {
				t.Errorf("mark %q, %v", mark, err)
			}
		})
	}
	l, err := open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	outcomes, err := l.Write(t.Context(), shop, []library.Mutation{post("new"), {Delete: true, ID: 1}})
	if err != nil || outcomes[0].Err != nil || outcomes[0].ID != 37 || outcomes[1].Err != nil {
		t.Errorf("a write to the upgraded store: %+v, %v; want id 37", outcomes, err)
	}
	if upTo, ranges, err := l.eraser.pending(); err != nil || upTo == 0 || len(ranges) != 1 {
		t.Errorf("to be erased: %v up to %d, %v; want everything", ranges, upTo, err)
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

// TestTwoItemsWithOneCode upgrades a store of version 1 in which two items have the same code, as an import could cause. The first item
// must keep the code.
func TestTwoItemsWithOneCode(t *testing.T) {
	db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem(), FormatMajorVersion: pebbleFormat, Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, at := range []place{{"a/b", 1}, {"a/b", 2}, {"c/d", 3}} {
		it := post("x").Put
		it.ID, it.ShortCode = at.id, "same"
		if err := db.Set(itemKey(at.property, at.id), item.Marshal(it, nil), nil); err != nil {
			t.Fatal(err)
		}
	}
	b := db.NewBatch()
	if err := errors.Join(toFormat2(db, b), b.Commit(pebble.Sync)); err != nil {
		t.Fatal(err)
	}
	var found []place
	err = findAll(db, 1, func(f finder, _ int) (err error) {
		found, err = holders(f, []library.PropertyID{"a/b", "c/d"}, "same")
		return err
	})
	if diff := cmp.Diff([]place{{"a/b", 1}}, found, cmp.AllowUnexported(place{})); diff != "" || err != nil {
		t.Errorf("holders (-want +got):\n%s%v", diff, err)
	}
	if value, err := get(db, propertyKey("a/b", underCount)); err != nil || string(value) != string(encodeNumber(2)) {
		t.Errorf("counted %q, %v; want 2", value, err)
	}
}

func TestAnUpgradeOfADamagedItem(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "v1"))); err != nil {
		t.Fatal(err)
	}
	edit(t, dir, func(db *pebble.DB) error { return db.Set(itemKey(shop, 5), []byte("{"), pebble.Sync) })
	_, err := open(Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "from format 1") || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v, want one that says which store and which step", err)
	}
}

// TestAStoreOfVersion2IsUpgraded checks that the upgrade records the names of the dynamic fields of all items. A store with more names than
// the limit must open, and must still accept items whose names it already has.
func TestAStoreOfVersion2IsUpgraded(t *testing.T) {
	dir := t.TempDir()
	named := func(id item.ID, first, n int) library.Mutation {
		members := make([]string, n)
		for i := range members {
			members[i] = fmt.Sprintf(`"f%05d":"v"`, first+i)
		}
		m := put(id, "beach", fmt.Sprintf("code%06d", id))
		m.Put.Submission = []byte("{" + strings.Join(members, ",") + "}")
		return m
	}
	l := mustOpen(t, Options{Dir: dir})
	const each = 100
	for id := range item.ID(item.MaxFieldNames / each) {
		write(t, l, named(id+1, int(id)*each, each))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, dir, func(db *pebble.DB) error {
		over := named(5000, item.MaxFieldNames, each).Put
		over.Tags = []item.Tag{{Namespace: "vibe", Key: "bold"}}
		b := db.NewBatch()
		return errors.Join(
			b.DeleteRange(propertyKey(shop, underName), propertyKey(shop, underName+1), nil),
			b.Set(itemKey(shop, over.ID), item.Marshal(over, nil), nil),
			stampFormat(b, format{Version: 2, Needs: formatNeeds}),
		)
	})
	edit(t, dir, func(db *pebble.DB) error {
		b := db.NewBatch()
		return errors.Join(
			db.Set(itemKey(shop, 5001), []byte("{"), nil), toFormat3(db, b), db.Delete(itemKey(shop, 5001), nil), b.Close(),
		)
	})
	for _, round := range []string{"upgraded", "opened again"} {
		t.Run(round, func(t *testing.T) {
			l := mustOpen(t, Options{Dir: dir})
			if n := len(l.served.properties[shop].names); n != item.MaxFieldNames+each+1 {
				t.Errorf("%d names, want %d", n, item.MaxFieldNames+each+1)
			}
			known, unknown := named(0, item.MaxFieldNames-each/2, each), named(0, 2*item.MaxFieldNames, 1)
			known.Put.Tags = []item.Tag{{Namespace: "vibe", Key: "calm"}}
			outcomes, err := l.Write(t.Context(), shop, []library.Mutation{known, unknown})
			if err != nil || outcomes[0].Err != nil {
				t.Errorf("names that are there: %v, %v", err, outcomes)
			}
			if _, ok := errors.AsType[*item.InvalidError](outcomes[1].Err); !ok {
				t.Errorf("a new name: %v, want an *item.InvalidError", outcomes[1].Err)
			}
		})
	}
}

// TestTagsBeyondTheLimits checks that a store of an earlier version, with more tags on an item and more tag namespaces than the limits
// allow, opens. Its items can be read, changed in any way that adds no tag, and deleted. Manifests do not count.
func TestTagsBeyondTheLimits(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	write(t, l, put(1, "beach", "code1"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	const namespaces = item.MaxPropertyNamespaces + 50
	over := put(7, "sea", "code7")
	over.Replace = true
	edit(t, dir, func(db *pebble.DB) error {
		authorKey, err := get(db, []byte(keyAuthorKey))
		if err != nil {
			return err
		}
		namer := mutations.NewNamer(authorKey)
		declared := item.Tag{Namespace: "declared", Key: "bold"} // as if only a manifest had assigned it
		errs := []error{db.Set(tagKey(shop, declared), nil, nil)}
		for i := range namespaces {
			tag := item.Tag{Namespace: fmt.Sprintf("n%03d", i), Key: "bold"}
			over.Put.Tags = append(over.Put.Tags, tag)
			errs = append(errs, db.Set(tagKey(shop, tag), nil, nil), db.Set(nameKey(shop, namer.Sum(query.TagFieldName(tag.Namespace))), nil, nil))
		}
		return errors.Join(append(errs, db.Set(itemKey(shop, 7), item.Encode(over.Put), nil))...)
	})
	l = mustOpen(t, Options{Dir: dir})
	if n := len(l.served.properties[shop].namespaces); n != namespaces {
		t.Errorf("%d namespaces, want %d", n, namespaces)
	}
	fewer := put(7, "sea", "code7")
	fewer.Replace, fewer.Put.Tags = true, over.Put.Tags[:namespaces-10]
	tag := func(namespace, key string, id item.ID) library.Mutation {
		return library.Mutation{Tag: &item.Tag{Namespace: namespace, Key: key}, IDs: []item.ID{id}}
	}
	steps := []struct {
		what    string
		m       library.Mutation
		refused bool
	}{
		{"a new namespace", tag("new", "bold", 1), true},
		{"the namespace of a manifest, which is new to items", tag("declared", "bold", 1), true},
		{"a namespace that is there", tag("n000", "calm", 1), false},
		{"another tag", tag("n000", "calm", 7), true},
		{"a tag that the item has", tag("n001", "bold", 7), false},
		{"the same item", over, false},
		{"an item with fewer tags", fewer, false},
		{"the former number of tags", over, true},
		{"a tag less", library.Mutation{Untag: &item.Tag{Namespace: "n000", Key: "bold"}, IDs: []item.ID{7}}, false},
		{"no item", library.Mutation{Delete: true, ID: 7}, false},
	}
	for _, step := range steps {
		outcomes, err := l.Write(t.Context(), shop, []library.Mutation{step.m})
		if err != nil {
			t.Fatal(err)
		}
		if _, refused := errors.AsType[*item.InvalidError](outcomes[0].Err); refused != step.refused || !refused && outcomes[0].Err != nil {
			t.Errorf("%s: %v, want refused: %t", step.what, outcomes[0].Err, step.refused)
		}
	}
}

// TestOlderFormsOfItems checks that the store can read items in the forms of older formats, and that a write of such an item replaces them.
func TestOlderFormsOfItems(t *testing.T) {
	text, err := os.ReadFile("../item/testdata/encoded1.hex")
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	older, err := item.Decode(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	for version, value := range map[int][]byte{3: item.Marshal(older, nil), 4: unpacked} {
		t.Run(fmt.Sprintf("format %d", version), func(t *testing.T) {
			dir := t.TempDir()
			l := mustOpen(t, Options{Dir: dir})
			write(t, l, post("beach"))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			edit(t, dir, func(db *pebble.DB) error {
				b := db.NewBatch()
				return errors.Join(b.Set(itemKey(shop, older.ID), value, nil), stampFormat(b, format{Version: version, Needs: formatNeeds}))
			})
			l = mustOpen(t, Options{Dir: dir})
			read, err := l.Item(shop, older.ID)
			if diff := cmp.Diff(older, read); err != nil || diff != "" {
				t.Errorf("the item in the older form: %v\n%s", err, diff)
			}
			patch, err := item.ParsePatch([]byte(`{"claimed":false}`))
			if err != nil {
				t.Fatal(err)
			}
			write(t, l, library.Mutation{Patch: patch, ID: older.ID})
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			changed := *older
			changed.Claimed = false
			edit(t, dir, func(db *pebble.DB) error {
				now, err := get(db, itemKey(shop, older.ID))
				if !bytes.Equal(now, item.Encode(&changed)) {
					t.Errorf("the item that was written again is stored as %q", now)
				}
				f, formatErr := readFormat(db)
				if f.Version != formatVersion {
					t.Errorf("the store has format %d", f.Version)
				}
				return errors.Join(err, formatErr)
			})
		})
	}
}
