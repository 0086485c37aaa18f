package store

import (
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vitrine-dev/vitrine/server/library"
)

func TestCheckpoint(t *testing.T) {
	dir, target := t.TempDir(), t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	write(t, l, link(put(1, "one", "code1"), 1))
	if err := l.db.pebble.Flush(); err != nil { // into a table, which a copy has links to
		t.Fatal(err)
	}
	write(t, l, put(2, "two", ""))
	version, err := l.Checkpoint(t.Context(), target)
	if err != nil || version != l.Version() {
		t.Fatalf("a copy of version %d, %v; want %d", version, err, l.Version())
	}
	write(t, l, put(3, "three", ""), library.Mutation{Delete: true, ID: 1})
	if err := l.eraser.erase(); err != nil {
		t.Fatal(err)
	}
	c, err := open(Options{Dir: target})
	if err != nil {
		t.Fatal(err)
	}
	if c.Version() != version || c.ID() != l.ID() || c.Count(shop) != 2 || c.items.count("one") != 1 || c.items.count("three") != 0 {
		t.Errorf("the copy is at %d, want %d; it has %d items", c.Version(), version, c.Count(shop))
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

// TestACopyThatFailsHarmsNothing: the disk of the copies is full, that of the store is not.
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
