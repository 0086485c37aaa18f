package store

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/library"
)

// TestFirstFormat checks a store with an item of format 1, which has no last_modified: the item has its created_on instead until it changes.
// As the property has had an item, an import sets no times.
func TestFirstFormat(t *testing.T) {
	text, err := os.ReadFile("../item/testdata/encoded1.hex")
	if err != nil {
		t.Fatal(err)
	}
	first, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	write(t, l, put(9, "beach", "code9"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, dir, func(db *pebble.DB) error {
		if err := db.Set(itemKey(shop, 9), first, nil); err != nil {
			return err
		}
		return stampFormat(db.NewBatch(), format{Version: 1, Needs: formatNeeds})
	})
	l = mustOpen(t, Options{Dir: dir})
	modified := func() string {
		t.Helper()
		it, err := l.Item(shop, 9)
		if err != nil {
			t.Fatal(err)
		}
		return it.LastModified
	}
	if got := modified(); got != "2026-11-20T08:00:00Z" {
		t.Errorf("an item of format 1 changed last at %s", got)
	}
	again := put(9, "sea", "code9")
	again.Put.LastModified = "2020"
	write(t, l, library.Mutation{Delete: true, ID: 9}, again)
	if got := modified(); got <= "2026-11-20T08:00:00Z" {
		t.Errorf("an import set the time %s", got)
	}
	edited := false
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, dir, func(db *pebble.DB) error {
		found, err := readFormat(db)
		edited = found.Version == formatVersion
		return err
	})
	if !edited {
		t.Error("the store was not stamped with its new format")
	}
}
