package engine

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/store"
	"github.com/vitrine-dev/vitrine/server/store/storetest"
)

// TestDamagedItemsAreReadFromTheStore changes bytes of an item in a segment file that is in use. Reads must return the item from the store.
func TestDamagedItemsAreReadFromTheStore(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	results, err := l.Apply(t.Context(), []library.Definition{{
		Property: trialShop, Owner: library.Owner{Install: "cluster", Kind: library.KindProperty, Namespace: "shop", Name: "default"},
		PropertySpec: &library.Property{PlatformPageID: 7},
	}})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	for id := item.ID(1); id <= 3; id++ {
		if _, err := l.Write(t.Context(), trialShop, []library.Mutation{{Put: &item.Item{ID: id, Content: item.Content{ContentType: item.Image, Text: "beach"}}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil { // seals the items in memory
		t.Fatal(err)
	}
	if l, err = Open(Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	read := func() string {
		t.Helper()
		p, err := l.Read(t.Context(), library.Read{Property: trialShop, Query: query.Term{Text: "beach"}, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return string(p.Items)
	}
	want := read()
	files, err := filepath.Glob(filepath.Join(dir, directory, "*", "*.seg"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, error %v", files, err)
	}
	f, err := os.OpenFile(files[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// The file begins with a magic of eight bytes, followed by the first item.
	if _, err := f.WriteAt([]byte{0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f}, 8); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != want {
		t.Errorf("damaged:\n%s\nwant\n%s", got, want)
	}
}

// TestIndexesWithoutAStore checks that Open fails if there are indexes but no store. Open must leave the indexes unchanged.
func TestIndexesWithoutAStore(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, l, definedProperty(trialShop))
	mustWrite(t, l, trialShop, beach(1))
	if err := l.Close(); err != nil { // seals the item in memory
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "pebble")); err != nil {
		t.Fatal(err)
	}
	if l, err := Open(Options{Dir: dir}); err == nil {
		t.Error("opened", l.Close())
	} else if !strings.Contains(err.Error(), dir) {
		t.Errorf("the error does not name the directory: %v", err)
	}
	if files, err := filepath.Glob(filepath.Join(dir, directory, "*", "*.seg")); err != nil || len(files) != 1 {
		t.Errorf("files %v, error %v; want one", files, err)
	}
}

// TestExportOfADamagedDatabase changes a byte of a block in a table of the database. The export must contain every item or report the item
// as unreadable. This includes the items after the damaged block.
func TestExportOfADamagedDatabase(t *testing.T) {
	const items = 1500
	dir := t.TempDir()
	random := rand.NewChaCha8([32]byte{})
	texts := make([]string, items+1)
	l, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, l, definedProperty(trialShop))
	var muts []library.Mutation
	for id := item.ID(1); id <= items; id++ {
		var noise [1500]byte // random, so that it cannot be compressed
		_, _ = random.Read(noise[:])
		texts[id] = "beach " + base64.RawURLEncoding.EncodeToString(noise[:])
		muts = append(muts, library.Mutation{Put: &item.Item{ID: id, Content: item.Content{ContentType: item.Image, Text: texts[id]}}})
	}
	mustWrite(t, l, trialShop, muts...)
	for range 2 { // opening the library a second time makes Pebble write its log to a table
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if l, err = Open(Options{Dir: dir}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	damageLargest(t, filepath.Join(dir, "pebble", "*.sst"))
	if l, err = Open(Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	var lost []item.ID
	for id := item.ID(1); id <= items; id++ {
		if _, err := l.store.ItemsByID(trialShop, []item.ID{id}); store.Damaged(err) {
			lost = append(lost, id)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if len(lost) == 0 {
		t.Fatal("all items are readable, so the damage is not in a block of items")
	}
	for name, q := range map[string]query.Node{"all": nil, "a query": query.Term{Text: "beach"}} {
		t.Run(name, func(t *testing.T) {
			var readable, unreadable []item.ID
			next := item.ID(1)
			for line, err := range l.Export(t.Context(), trialShop, q) {
				id := next
				if gone, ok := errors.AsType[*library.UnreadableItemError](err); ok {
					id, unreadable = gone.ID, append(unreadable, gone.ID)
				} else if err != nil {
					t.Fatalf("after item %d: %v", next-1, err)
				} else if !strings.Contains(string(line), texts[id]) {
					t.Fatalf("item %d is exported as %s", id, line)
				} else {
					readable = append(readable, id)
				}
				if id != next {
					t.Fatalf("item %d follows item %d", id, next-1)
				}
				next++
			}
			if next != items+1 || !slices.Equal(unreadable, lost) || !slices.Contains(readable, items) || len(unreadable) > 20 {
				t.Errorf("the export ends before item %d; it reports %v as unreadable; want %v", next, unreadable, lost)
			}
		})
	}
}

// damageLargest changes the middle byte of the largest file that matches a pattern.
func damageLargest(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var largest []byte
	name := ""
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(content) > len(largest) {
			largest, name = content, file
		}
	}
	largest[len(largest)/2]++
	if err := os.WriteFile(name, largest, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedLibrary damages each file of a library in one place. Open must fail and change no file, or the library must contain every
// item. VITRINE_DAMAGE_ITEMS overrides the number of items.
func TestDamagedLibrary(t *testing.T) {
	items := 1000
	if text := os.Getenv("VITRINE_DAMAGE_ITEMS"); text != "" {
		var err error
		if items, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	l, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, l, definedProperty(trialShop))
	for from := 1; from <= items; from += 250 {
		var muts []library.Mutation
		for id := from; id < from+250; id++ {
			muts = append(muts, beach(item.ID(id)))
		}
		mustWrite(t, l, trialShop, muts...)
	}
	want, err := everything(t, l)
	if err != nil {
		t.Fatal(err)
	}
	killed := t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, original := range map[string]string{"closed": dir, "killed": killed} {
		t.Run(name, func(t *testing.T) {
			refused, places := 0, storetest.Sample(t, original, 20)
			for _, d := range places {
				if !tryDamage(t, original, d, want) {
					refused++
				}
			}
			t.Logf("%d places, %d opened with everything, %d refused", len(places), len(places)-refused, refused)
		})
	}
}

// tryDamage opens a copy of a library with one damaged place. It reports whether the library was opened.
func tryDamage(t *testing.T, original string, d storetest.Damage, want [sha256.Size]byte) bool {
	t.Helper()
	dir, before := d.CopyOf(t, original), d.CopyOf(t, original)
	defer os.RemoveAll(dir)
	defer os.RemoveAll(before)
	l, err := Open(Options{Dir: dir, patience: time.Minute})
	if err != nil {
		if changes := storetest.Changes(t, before, dir); len(changes) > 0 {
			t.Errorf("%v: the refused library has changed: %v (%v)", d, changes, err)
		}
		return false
	}
	defer l.Close()
	got, err := everything(t, l)
	switch {
	case errors.Is(err, library.ErrUnavailable):
		return false // the server reports why it cannot serve the property
	case err != nil:
		t.Errorf("%v: %v", d, err)
	case got != want:
		t.Errorf("%v: opened with other items", d)
	}
	return true
}

// everything returns a checksum of the bytes of all items of the shop.
func everything(t *testing.T, l *Library) (sum [sha256.Size]byte, err error) {
	t.Helper()
	h := sha256.New()
	r := library.Read{Property: trialShop, Query: query.Term{Text: "beach"}, Limit: 1000}
	for {
		page, err := l.Read(t.Context(), r)
		if err != nil {
			return sum, err
		}
		h.Write(page.Items)
		if r.Offset += int64(r.Limit); r.Offset >= page.Total {
			fmt.Fprintln(h, page.Total)
			return [sha256.Size]byte(h.Sum(nil)), nil
		}
	}
}
