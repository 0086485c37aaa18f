package index_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vitrine-dev/vitrine/server/engine/index"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// reopen closes the store and the index and opens them again. fault injects errors into operations on the files of the index. If
// everywhere is true, it also injects errors into operations on the files of the store.
func (w *world) reopen(everywhere bool, fault errorfs.InjectorFunc) error {
	w.t.Helper()
	w.close()
	failing := errorfs.Wrap(w.fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if everywhere || strings.Contains(op.Path, "/index/") {
			return fault(op)
		}
		return nil
	}))
	w.f.fs, w.f.x = failing, nil
	o := store.Options{Dir: "data", FS: w.fs, Logger: slog.New(slog.DiscardHandler), RetryAfter: time.Millisecond}
	if everywhere {
		o.FS = failing
	}
	var err error
	w.store, err = store.Open(o, w.f)
	return err
}

// TestLostAndErased calls Erase while rebuilt data is only in memory because no new files can be created. The manifest that Erase writes
// must not state that the files hold all data.
func TestLostAndErased(t *testing.T) {
	w := newWorld(t, func(o *index.Options) { o.FanIn = 100 })
	for n := range item.ID(3) {
		w.put(sequence(n*30+1, n*30+30)...)
		if err := w.f.x.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.close()
	w.f.x = nil
	w.open()
	w.change(w.files()[0], func(b []byte) []byte { return b[:len(b)/2] })
	err := w.reopen(false, func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate {
			return syscall.ENOSPC
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.remove(sequence(61, 90)...)
	if err := w.f.x.Erase(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.check()
	w.f.fs = w.fs
	w.crash(rand.New(rand.NewPCG(1, 1)))
	w.check()
	w.close()
}

// TestRestored checks that the log contains an error if one file of the index is missing. It must contain no error if all files are
// missing, as after a restore.
func TestRestored(t *testing.T) {
	var log strings.Builder
	w := newWorld(t, func(o *index.Options) {
		o.FanIn, o.Logger = 100, slog.New(slog.NewTextHandler(&log, nil))
	})
	for n := range item.ID(3) {
		w.put(sequence(n*30+1, n*30+30)...)
		if err := w.f.x.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, lost := range []struct {
		files   int
		anError bool
	}{{1, true}, {3, false}} {
		w.close()
		names := w.files()
		if len(names) != 3 {
			t.Fatalf("files %v, want three", names)
		}
		for _, name := range names[:lost.files] {
			if err := w.fs.Remove("data/index/" + name); err != nil {
				t.Fatal(err)
			}
		}
		log.Reset()
		w.f.x = nil
		w.open()
		w.check()
		if !regexp.MustCompile("rebuilding (it|all segments) from the store").MatchString(log.String()) || strings.Contains(log.String(), "ERROR") != lost.anError {
			t.Errorf("with %d of 3 files lost (an error: %t) the log says\n%s", lost.files, lost.anError, log.String())
		}
	}
	w.close()
}

// TestPassed checks batches of definitions that bypass the index while the index is closed or being opened. They must not cause a rebuild.
func TestPassed(t *testing.T) {
	var log strings.Builder
	w := newWorld(t, func(o *index.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	reload := func() string {
		t.Helper()
		w.close()
		log.Reset()
		w.f.x = nil
		w.open()
		w.check()
		return log.String()
	}
	define := func(page int64) {
		w.apply(library.Definition{
			Property: shop, Owner: library.Owner{Install: "i", Kind: library.KindProperty, Namespace: "shop", Name: "default"},
			PropertySpec: &library.Property{PlatformPageID: page},
		})
	}
	w.put(sequence(1, 30)...)
	w.f.passing = true
	define(2)
	w.f.passing = false
	// Close writes the manifest of a snapshot that is older than the batch that bypassed the index.
	if said := reload(); strings.Contains(said, "without its index") {
		t.Errorf("batch passed while the index was open: the log says\n%s", said)
	}
	w.f.passing = true
	define(3)
	w.f.passing = false
	w.crash(rand.New(rand.NewPCG(1, 1)))
	if said := log.String(); strings.Contains(said, "without its index") {
		t.Errorf("batch passed before a crash: the log says\n%s", said)
	}
	w.close()
}

// TestBacklog checks that files that accumulate during a long merge are afterwards merged in a single merge.
func TestBacklog(t *testing.T) {
	merging, finish := make(chan struct{}), make(chan struct{})
	var caught atomic.Bool
	var most atomic.Int64
	w := newWorld(t, func(o *index.Options) {
		o.OnMerge = func(inputs []segment.Part, merged *segment.Segment, _ [][]uint32) {
			if merged.Len() < 100 { // merges in memory have fewer documents than merges of files
				return
			}
			most.Store(max(most.Load(), int64(len(inputs))))
			if caught.CompareAndSwap(false, true) {
				close(merging)
				<-finish
			}
		}
	})
	seal := func(n item.ID) {
		w.put(sequence(n*40+1, n*40+40)...)
		if err := w.f.x.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for n := range item.ID(3) {
		seal(n)
	}
	<-merging
	for n := range item.ID(8) {
		seal(3 + n)
	}
	close(finish)
	w.eventually("the backlog is merged", func(s index.Stats) bool { return s.Files <= 2 })
	if n := most.Load(); n != 8 {
		t.Errorf("%d files were merged at once, want 8", n)
	}
	w.check()
	w.close()
}

// TestLongMerge checks that segments in memory are merged and sealed during a long merge of files.
func TestLongMerge(t *testing.T) {
	merging, finish := make(chan struct{}), make(chan struct{})
	var caught atomic.Bool
	w := newWorld(t, func(o *index.Options) {
		o.OnMerge = func(_ []segment.Part, merged *segment.Segment, _ [][]uint32) {
			if merged.Len() >= 100 && caught.CompareAndSwap(false, true) { // merges of files have more documents than merges in memory
				close(merging)
				<-finish
			}
		}
	})
	for n := range item.ID(3) {
		w.put(sequence(n*40+1, n*40+40)...)
		if err := w.f.x.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	<-merging
	for id := range item.ID(60) {
		w.put(1000 + id)
	}
	w.eventually("memory is merged and sealed", func(s index.Stats) bool { return s.MemoryParts <= 9 && s.Seals > 3 })
	close(finish)
	w.check()
	w.close()
}

// TestJournal checks that the journal is shortened even if memory holds no documents.
func TestJournal(t *testing.T) {
	w := newWorld(t, func(o *index.Options) { o.SealDocs = 20 })
	defer w.close()
	w.put(sequence(1, 300)...)
	if err := w.f.x.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id := range item.ID(100) {
		w.remove(id + 1)
	}
	w.eventually("the journal is short", func(index.Stats) bool {
		keys, err := w.store.IndexKeys([]byte("p"+shop+"\x00j"), []byte("p"+shop+"\x00k"))
		if err != nil {
			t.Fatal(err)
		}
		return len(keys) <= 80
	})
	w.check()
}

// TestUnreadable checks that a temporary read error does not cause files to be discarded.
func TestUnreadable(t *testing.T) {
	w := newWorld(t, nil)
	w.put(sequence(1, 50)...)
	if err := w.f.x.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := w.reopen(false, func(op errorfs.Op) error {
		if op.Kind == errorfs.OpOpen && strings.HasSuffix(op.Path, ".seg") {
			return &fs.PathError{Op: "open", Path: op.Path, Err: syscall.EMFILE}
		}
		return nil
	})
	if !errors.Is(err, syscall.EMFILE) {
		t.Errorf("opened with %v", err)
	}
	w.f.fs, w.f.x = w.fs, nil
	w.open()
	defer w.close()
	w.check()
	if s := w.f.x.Stats(); s.Rebuilt != 0 {
		t.Errorf("%+v", s)
	}
}

// TestStoreFails makes single writes of the store or the index fail, a few in each run. After a failure, it abandons the index and opens
// it again. All acknowledged writes must exist.
func TestStoreFails(t *testing.T) {
	for seed := range uint64(30) {
		w := newWorld(t, nil)
		var left atomic.Int64
		left.Store(40)
		err := w.reopen(true, func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && left.Add(-1) == 0 {
				return syscall.EIO
			}
			return nil
		})
		if err != nil {
			w.open()
		}
		rng := rand.New(rand.NewPCG(seed, 3))
		for round := range 10 {
			if round%3 == 1 {
				left.Store(1 + rng.Int64N(60))
			}
			w.putWithRetry(1+rng.Int64N(50), 51+rng.Int64N(50), 101+rng.Int64N(50), 151+rng.Int64N(50), 201+rng.Int64N(50))
			w.check()
		}
		left.Store(0)
		w.f.fs = w.fs
		w.crash(rng)
		w.check()
		w.close()
	}
}

// putWithRetry is like put, but retries while the store is unavailable.
func (w *world) putWithRetry(ids ...item.ID) {
	w.t.Helper()
	var muts []library.Mutation
	for _, id := range ids {
		w.items[id] = "text " + time.Duration(rand.Int64()).String()
		muts = append(muts, library.Mutation{Replace: true, Put: &item.Item{ID: id, Content: item.Content{ContentType: "text", Text: w.items[id]}}})
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		outcomes, err := w.store.Write(context.Background(), shop, muts)
		for _, o := range outcomes {
			err = errors.Join(err, o.Err)
		}
		if err == nil {
			return
		}
		if !errors.Is(err, library.ErrUnavailable) || time.Now().After(deadline) {
			w.t.Fatal(err)
		}
	}
}
