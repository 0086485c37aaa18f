package scratch

import (
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
	a, n, err := f.Append([]byte("abc"), []uint32{1, 1 << 31})
	if err != nil || string(a) != "abc" || !slices.Equal(n, []uint32{1, 1 << 31}) {
		t.Fatalf("%q, %v, error %v", a, n, err)
	}
	if a, n, err := f.Append(nil, nil); err != nil || a != nil || n != nil {
		t.Errorf("nothing: %v, %v, error %v", a, n, err)
	}
	if _, _, err := f.Append(make([]byte, 40), make([]uint32, 10)); !errors.Is(err, ErrFull) || f.Fits(80) {
		t.Errorf("more than fits: error %v", err)
	}
	if b, n, err := f.Append(make([]byte, 20), make([]uint32, 10)); err != nil || len(b) != 20 || len(n) != 10 || string(a) != "abc" {
		t.Errorf("what fits: %d bytes, %d numbers, error %v; before: %q", len(b), len(n), err, a)
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
