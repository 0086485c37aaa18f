package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/library"
)

// TestCursorsOfEarlierVersions checks that the store refuses a cursor whose place has other members than today, instead of reading it as a
// different place.
func TestCursorsOfEarlierVersions(t *testing.T) {
	type place struct {
		Rest   bool  `json:"r,omitempty"`
		Values []int `json:"v,omitempty"`
		ID     int64 `json:"i"`
	}
	l := mustOpen(t, Options{Dir: t.TempDir()})
	for _, old := range []any{
		map[string]any{"a": map[string]any{"p": map[string]any{"c": 1, "i": 2}}},
		map[string]any{"r": map[string]any{"p": "name 1-2 0", "i": 50}},
		"text", []int{1},
	} {
		c, err := l.Sealer().Seal("listing", old)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Sealer().Open(c, "listing", &place{}); !errors.As(err, new(*library.CursorError)) {
			t.Errorf("%v: %v, want a *library.CursorError", old, err)
		}
	}
}

func TestCursors(t *testing.T) {
	type place struct{ At string }
	dir := t.TempDir()
	l, other := mustOpen(t, Options{Dir: dir}), mustOpen(t, Options{Dir: t.TempDir()})
	seal := func(l *opened, listing, at string) library.Cursor {
		t.Helper()
		c, err := l.Sealer().Seal(listing, place{at})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := seal(l, "listing", "annemarie@mail.example")
	if strings.Contains(string(c), "annemarie") || c != seal(l, "listing", "annemarie@mail.example") || c == seal(l, "another", "annemarie@mail.example") {
		t.Errorf("cursor %s: it is readable, or not the same twice, or the same for two listings", c)
	}
	lengths := map[int]bool{}
	for n := 0; n < 20_000; n += 10 {
		long := seal(l, "listing", strings.Repeat("x", n))
		lengths[len(long)] = true
		if n%1000 == 0 {
			var p place
			if err := l.Sealer().Open(long, "listing", &p); err != nil || len(p.At) != n {
				t.Fatalf("a place of %d bytes: %d bytes, %v", n, len(p.At), err)
			}
		}
	}
	if len(lengths) > 10 {
		t.Errorf("cursors of %d lengths tell how long the values are", len(lengths))
	}
	for name, foreign := range map[string]library.Cursor{
		"nothing": "", "nonsense": "nonsense", "not base64": "!", "cut off": c[:len(c)-2], "another listing's": seal(l, "another", "x"),
		"another store's": seal(other, "listing", "x"),
	} {
		var p place
		if err := l.Sealer().Open(foreign, "listing", &p); !errors.As(err, new(*library.CursorError)) {
			t.Errorf("%s: %v, want a *library.CursorError", name, err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var p place
	if err := mustOpen(t, Options{Dir: dir}).Sealer().Open(c, "listing", &p); err != nil || p.At != "annemarie@mail.example" {
		t.Errorf("after a restart: %+v, %v", p, err)
	}
}
