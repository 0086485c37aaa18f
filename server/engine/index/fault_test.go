package index_test

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vitrine-dev/vitrine/server/engine/index"
	"github.com/vitrine-dev/vitrine/server/store"
)

// TestDiskFull makes every write to a segment file fail for a while. Reads and writes must continue, and no data may be lost. When there
// is space again, the index must recover.
func TestDiskFull(t *testing.T) {
	w := newWorld(t, nil)
	w.close()
	var full atomic.Bool
	failing := errorfs.Wrap(w.fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && strings.Contains(op.Path, "/index/") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	w.f.fs, w.f.x = failing, nil
	var err error
	if w.store, err = store.Open(store.Options{Dir: "data", FS: w.fs, Logger: slog.New(slog.DiscardHandler)}, w.f); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	full.Store(true)
	for range 20 {
		w.put(1+rng.Int64N(300), 301+rng.Int64N(300), 601+rng.Int64N(300))
		w.check()
	}
	w.eventually("Stats report the problem", func(s index.Stats) bool { return errors.Is(s.Problem, syscall.ENOSPC) })
	full.Store(false)
	w.put(sequence(1000, 1050)...)
	w.eventually("everything is sealed", func(s index.Stats) bool { return s.Problem == nil && s.Files > 0 })
	w.check()
	w.crash(rng)
	w.check()
	w.close()
}

// TestFaults makes one write fail, a different one in each run. After that, it simulates a crash.
func TestFaults(t *testing.T) {
	for n := int64(0); n < 60; n += 3 {
		w := newWorld(t, nil)
		w.close()
		var left atomic.Int64
		left.Store(n)
		failing := errorfs.Wrap(w.fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if strings.Contains(op.Path, "/index/") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && left.Add(-1) == 0 {
				return errors.New("injected")
			}
			return nil
		}))
		w.f.fs, w.f.x = failing, nil
		var err error
		if w.store, err = store.Open(store.Options{Dir: "data", FS: w.fs, Logger: slog.New(slog.DiscardHandler)}, w.f); err != nil {
			// The injected error made Open fail. The next attempt succeeds.
			w.f.fs, w.f.x = vfs.FS(w.fs), nil
			w.open()
		}
		rng := rand.New(rand.NewPCG(uint64(n), 2))
		for range 12 {
			w.put(1+rng.Int64N(50), 51+rng.Int64N(50), 101+rng.Int64N(50), 151+rng.Int64N(50), 201+rng.Int64N(50))
			w.check()
		}
		w.crash(rng)
		w.check()
		w.close()
	}
}
