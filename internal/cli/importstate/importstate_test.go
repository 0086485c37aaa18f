package importstate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/client"
)

func TestKeptUntilRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "imports")
	f := Open(dir, "https://shop.example", "identity", "/data/items.ndjson")
	if s, err := f.Load(); s != nil || err != nil {
		t.Errorf("before anything was kept: %v, %v", s, err)
	}
	want := State{
		Server: "https://shop.example", Input: "/data/items.ndjson", Begun: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
		At: client.Checkpoint{Lines: 7, Bytes: 70, SHA256: "ab", Sent: 9, Created: 5, Failed: 2},
	}
	for range 2 {
		if err := f.Save(want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Open(dir, "https://shop.example", "identity", "/data/items.ndjson").Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("-kept +loaded\n%s", diff)
	}
	for name, other := range map[string]*File{
		"server":   Open(dir, "https://other.example", "identity", "/data/items.ndjson"),
		"identity": Open(dir, "https://shop.example", "other", "/data/items.ndjson"),
		"input":    Open(dir, "https://shop.example", "identity", "/data/other.ndjson"),
	} {
		if s, err := other.Load(); s != nil || err != nil {
			t.Errorf("with another %s: %v, %v", name, s, err)
		}
	}
	for range 2 {
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestDamagedStateIsReported(t *testing.T) {
	dir := t.TempDir()
	f := Open(dir, "s", "i", "p")
	if err := f.Save(State{}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load(); err == nil || !strings.Contains(err.Error(), files[0]) {
		t.Errorf("a damaged file: %v", err)
	}
}
