package scratch

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFile(t *testing.T) {
	dir := t.TempDir()
	f, err := New(dir, 100)
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Append([]byte("abc"))
	if err != nil || string(a) != "abc" {
		t.Fatalf("%q, error %v", a, err)
	}
	n, err := f.AppendNumbers([]uint32{1, 1 << 31})
	if err != nil || !slices.Equal(n, []uint32{1, 1 << 31}) {
		t.Fatalf("%v, error %v", n, err)
	}
	if none, err := f.AppendNumbers(nil); err != nil || none != nil {
		t.Errorf("no numbers: %v, error %v", none, err)
	}
	if _, err := f.Append(bytes.Repeat([]byte{1}, 85)); !errors.Is(err, ErrFull) {
		t.Errorf("more than fits: error %v", err)
	}
	if b, err := f.Append(bytes.Repeat([]byte{1}, 84)); err != nil || len(b) != 84 || string(a) != "abc" {
		t.Errorf("the rest: %d bytes, error %v; before: %q", len(b), err, a)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("the file has a name: %v, error %v", names, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := New(filepath.Join(dir, "missing"), 100); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: error %v", err)
	}
}
