package engine

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// gated is a disk on which listing a directory of an index blocks until the gate is closed.
type gated struct {
	vfs.FS
	gate chan struct{}
}

func (g gated) List(dir string) ([]string, error) {
	if strings.Contains(dir, directory) {
		<-g.gate
	}
	return g.FS.List(dir)
}

// TestOpenDoesNotWaitForALongLoad checks that Open returns before the index is loaded, and that State reports the load. Until the end of
// the load, operations that need the index must fail.
func TestOpenDoesNotWaitForALongLoad(t *testing.T) {
	disk := madeDisk(t)
	l, err := Open(Options{Dir: "/store", fs: disk})
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
	put := []library.Mutation{{Put: &item.Item{Content: item.Content{ContentType: item.Image, Text: "beach"}}}}
	if _, err := l.Write(t.Context(), trialShop, put); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	gate := make(chan struct{})
	if l, err = Open(Options{Dir: "/store", fs: gated{disk, gate}, patience: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	if s := l.State(t.Context()); s.Ready || !strings.Contains(s.Problem, "the index is being") || s.Items != 1 {
		t.Errorf("state %+v", s)
	}
	read := library.Read{Property: trialShop, Query: query.Term{Text: "beach"}, Limit: 5}
	if _, err := l.Read(t.Context(), read); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("a read: %v", err)
	}
	if _, err := l.Write(t.Context(), trialShop, put); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("a write: %v", err)
	}
	if err := l.SetMark(t.Context(), "loaded", "yes"); err != nil {
		t.Errorf("a mark, which does not need the index: %v", err)
	}
	if err := l.follower.Erase(t.Context()); err == nil {
		t.Error("Erase succeeded before the index was loaded")
	}
	close(gate)
	for began := time.Now(); !l.State(t.Context()).Ready; runtime.Gosched() {
		if time.Since(began) > time.Minute {
			t.Fatalf("not ready: %+v", l.State(t.Context()))
		}
	}
	if _, err := l.Write(t.Context(), trialShop, put); err != nil {
		t.Errorf("a write after the load: %v", err)
	}
	if p, err := l.Read(t.Context(), read); err != nil || p.Total != 2 {
		t.Errorf("a read after the load: %+v, %v", p, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}

	// The library can be closed during the load.
	gate = make(chan struct{})
	if l, err = Open(Options{Dir: "/store", fs: gated{disk, gate}, patience: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	close(gate)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
