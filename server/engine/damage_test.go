package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestDamagedItemsAreReadFromTheStore flips bits where the bytes of items lie in a file that is in use.
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
	if err := l.Close(); err != nil { // seals them
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
	// The file begins with eight bytes of its own, then comes the frame of the first item.
	if _, err := f.WriteAt([]byte{0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f}, 8); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != want {
		t.Errorf("damaged:\n%s\nwant\n%s", got, want)
	}
}

// TestIndexesWithoutAStore holds that indexes whose store is missing are refused and left as they are.
func TestIndexesWithoutAStore(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, l, definedProperty(trialShop))
	mustWrite(t, l, trialShop, beach(1))
	if err := l.Close(); err != nil { // seals it
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
