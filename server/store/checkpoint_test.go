package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

func TestCheckpoint(t *testing.T) {
	dir, target := t.TempDir(), t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	write(t, l, link(put(1, "one", "code1"), 1))
	if err := l.db.pebble.Flush(); err != nil { // flush the item into a table, so that the copy contains the table as a hard link
		t.Fatal(err)
	}
	write(t, l, put(2, "two", ""))
	census, err := l.Checkpoint(t.Context(), target)
	if want := (Census{Store: l.ID(), Batch: l.Version(), Items: 2}); err != nil || census != want {
		t.Fatalf("a copy of %+v, %v; want %+v", census, err, want)
	}
	write(t, l, put(3, "three", ""), library.Mutation{Delete: true, ID: 1})
	if err := l.eraser.erase(); err != nil {
		t.Fatal(err)
	}
	c, err := open(Options{Dir: target})
	if err != nil {
		t.Fatal(err)
	}
	if c.Census() != census || c.Count(shop) != 2 || c.items.count("one") != 1 || c.items.count("three") != 0 {
		t.Errorf("the copy is %+v, want %+v; it has %d items", c.Census(), census, c.Count(shop))
	}
	c.checkLink(t, "code1", "https://posts.example/1")
	write(t, c, put(7, "seven", ""))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if l.Count(shop) != 2 || l.items.count("seven") != 0 {
		t.Error("a write to the copy came to the store")
	}
	if _, err := l.Checkpoint(t.Context(), target); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second copy in one place: %v", err)
	}
}

// TestVerifyCopy checks that VerifyCopy does not change a copy, and that it rejects a copy with anything that cannot be read.
func TestVerifyCopy(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	for id := range item.ID(readChunk + 10) {
		write(t, l, put(id+1, "beach", ""))
	}
	files := func(dir string) (names []string) {
		t.Helper()
		entries, err := os.ReadDir(filepath.Join(dir, databaseName))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	verify := func(change func(db *pebble.DB) error, try func(library.PropertyID, []*item.Item) error) error {
		t.Helper()
		target := t.TempDir()
		if _, err := l.Checkpoint(t.Context(), target); err != nil {
			t.Fatal(err)
		}
		if change != nil {
			edit(t, target, change)
		}
		before := files(target)
		if try == nil {
			try = func(library.PropertyID, []*item.Item) error { return nil }
		}
		err := l.VerifyCopy(t.Context(), target, try)
		if diff := cmp.Diff(before, files(target)); diff != "" && change == nil {
			t.Errorf("the files of the copy (-before +after):\n%s", diff)
		}
		return err
	}
	seen := 0
	err := verify(nil, func(p library.PropertyID, items []*item.Item) error {
		for _, it := range items {
			if seen++; p != shop || it.ID != item.ID(seen) {
				t.Errorf("item %d of %s comes at place %d", it.ID, p, seen)
			}
		}
		return nil
	})
	if err != nil || seen != readChunk+10 {
		t.Errorf("a whole copy: %v, %d items", err, seen)
	}
	refusal := errors.New("cannot be indexed")
	if err := verify(nil, func(library.PropertyID, []*item.Item) error { return refusal }); !errors.Is(err, refusal) {
		t.Errorf("a copy that cannot be indexed: %v", err)
	}
	for _, c := range []struct {
		change func(db *pebble.DB) error
		want   string
	}{
		{func(db *pebble.DB) error { return db.Set(itemKey(shop, readChunk+5), []byte("{"), nil) }, "property shop/default: read item 1029"},
		{func(db *pebble.DB) error { return db.Set([]byte("zzz"), nil, nil) }, "unknown key"},
		{func(db *pebble.DB) error { return db.Delete(itemKey(shop, 5), nil) }, "property shop/default: it has 1033 items, but its counter says 1034"},
		{func(db *pebble.DB) error { return db.Set(journalKey(shop, 5), []byte{1, 1, 0x80}, nil) }, "not an entry of a journal"},
	} {
		if err := verify(c.change, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// TestACopyThatFailsHarmsNothing copies a store to a full disk, while the disk of the store itself is not full. The store must not be
// affected.
func TestACopyThatFailsHarmsNothing(t *testing.T) {
	var full atomic.Bool
	disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasPrefix(op.Path, "copies") {
			return &fs.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
		}
		return nil
	}))
	l := mustOpen(t, Options{Dir: "store", FS: disk})
	write(t, l, put(1, "one", ""))
	full.Store(true)
	if _, err := l.Checkpoint(t.Context(), "copies/1"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v, want the disk's", err)
	}
	write(t, l, put(2, "two", ""))
	if s := l.State(t.Context()); s.Problem != "" {
		t.Errorf("the store has a problem: %s", s.Problem)
	}
	full.Store(false)
	if _, err := l.Checkpoint(t.Context(), "copies/2"); err != nil {
		t.Error(err)
	}
}
