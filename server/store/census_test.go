package store

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// TestCensus checks that neither the number of batches nor the number of items plus deletions ever falls, whatever a caller writes, and
// that a reopened store has the same census.
func TestCensus(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	rng := rand.New(rand.NewPCG(1, 35))
	exists, created := map[item.ID]bool{}, int64(0)
	for range 200 {
		var muts []library.Mutation
		for range 1 + rng.IntN(6) {
			id := item.ID(1 + rng.IntN(12))
			if rng.IntN(3) == 0 {
				muts = append(muts, library.Mutation{Delete: true, ID: id})
			} else {
				muts = append(muts, put(id, "x", ""))
			}
		}
		before := l.Census()
		at := maps.Clone(exists)
		outcomes, err := l.Write(t.Context(), shop, muts)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range muts {
			switch {
			case outcomes[i].Err != nil:
			case m.Delete:
				delete(exists, m.ID)
			default:
				exists[outcomes[i].ID] = true
			}
		}
		for id := range exists {
			if !at[id] {
				created++
			}
		}
		now := l.Census()
		if now.Batch < before.Batch || now.Items != int64(len(exists)) || now.Items+now.Deleted != created {
			t.Fatalf("after %+v: %+v, want %d items and %d in all", before, now, len(exists), created)
		}
	}
	if _, err := l.Remove(t.Context(), []library.Owner{shopProperty().Owner}); err != nil {
		t.Fatal(err)
	}
	if err := l.Purge(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	want := l.Census()
	if want.Items != 0 || want.Deleted != created {
		t.Errorf("after a purge: %+v, want %d deletions", want, created)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got := mustOpen(t, Options{Dir: dir}).Census()
	if got.Store != want.Store || got.Batch < want.Batch || got.Items != want.Items || got.Deleted != want.Deleted {
		t.Errorf("after a restart: %+v, want %+v", got, want)
	}
}

// TestRestoredStoreHasANewID checks that a store gets a new id when it is first opened after a restore, and only then.
func TestRestoredStoreHasANewID(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, RestoredName)
	ids := map[string]bool{}
	for i, restored := range []bool{false, true, false, true, false} {
		if restored {
			if err := os.WriteFile(mark, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l, err := open(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if known := ids[l.ID()]; known != (i > 0 && !restored) {
			t.Errorf("opened %d times, restored %t: the id %s is known: %t", i+1, restored, l.ID(), known)
		}
		ids[l.ID()] = true
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(mark); !os.IsNotExist(err) {
			t.Errorf("the mark of the restore: %v", err)
		}
	}
}
