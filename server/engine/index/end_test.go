package index_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vitrine-dev/vitrine/server/engine/index"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// TestEndWhileMerging calls Abandon (as after an I/O error) or Drop (as for a purge) while a background task waits for the store. The
// call must not wait for the task, and the task must not change anything that the next index has written.
func TestEndWhileMerging(t *testing.T) {
	for name, giveUp := range map[string]func(*index.Index){"abandon": (*index.Index).Abandon, "drop": (*index.Index).Drop} {
		t.Run(name, func(t *testing.T) {
			merging, held, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			var caught atomic.Bool
			w := newWorld(t, func(o *index.Options) {
				o.OnMerge = func([]segment.Part, *segment.Segment, [][]uint32) {
					if caught.CompareAndSwap(false, true) {
						close(merging)
						<-held
					}
				}
			})
			w.put(sequence(1, 30)...)
			first := w.f.x
			go func() { ended <- first.Seal(context.Background()) }()
			<-merging
			err := w.store.Hold(func() error {
				close(held)
				giveUp(first)
				w.f.x = nil
				if name == "drop" {
					return nil
				}
				return w.f.Load(w.store)
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err == nil {
				t.Error("an ended index wrote to the store")
			}
			if s := first.Acquire(); len(s.Parts()) > 0 {
				t.Error("an ended index has a snapshot with segments")
			}
			if name == "drop" {
				if err := errors.Join(w.f.Load(w.store), w.store.Close()); err != nil {
					t.Fatal(err)
				}
				return
			}
			w.check()
			w.close()
			w.f.x = nil
			w.open()
			w.check()
			w.close()
		})
	}
}

// TestClosed checks that Stats works on a closed index.
func TestClosed(t *testing.T) {
	w := newWorld(t, nil)
	w.put(sequence(1, 60)...)
	x := w.f.x
	w.close()
	if s := x.Stats(); s.Docs != 0 {
		t.Errorf("%+v", s)
	}
}

// TestEraseReplaced checks that Erase also erases older versions of a deleted item, in all segments.
func TestEraseReplaced(t *testing.T) {
	w := newWorld(t, func(o *index.Options) { o.FanIn, o.SealDocs = 100, 1000 })
	defer func() { w.close() }()
	for n := range item.ID(3) {
		w.put(sequence(100*n+10, 100*n+40)...)
		w.items[7] = fmt.Sprint("telltale ", n)
		w.write([]library.Mutation{{Replace: true, Put: &item.Item{ID: 7, Content: item.Content{ContentType: "text", Text: w.items[7]}}}})
		if err := w.f.x.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.remove(7)
	if err := w.f.x.Erase(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(w.files()) != 3 {
		t.Errorf("files %v", w.files())
	}
	for _, name := range w.files() {
		w.change(name, func(b []byte) []byte {
			if bytes.Contains(b, []byte("telltale")) {
				t.Errorf("%s holds bytes of a deleted item", name)
			}
			return b
		})
	}
	w.check()
}

// TestEraseHeld checks that Erase removes a file that contains a deleted item, even if a reader has the file open. Erase must fail until
// all such files are removed.
func TestEraseHeld(t *testing.T) {
	w := newWorld(t, func(o *index.Options) { o.SealDocs = 1000 })
	defer func() { w.close() }()
	var stuck atomic.Bool
	err := w.reopen(false, func(op errorfs.Op) error {
		if op.Kind == errorfs.OpRemove && stuck.Load() {
			return syscall.EIO
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.put(sequence(1, 50)...)
	if err := w.f.x.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := w.files()
	s := w.f.x.Acquire()
	w.remove(7)
	stuck.Store(true)
	if err := w.f.x.Erase(t.Context()); !errors.Is(err, syscall.EIO) {
		t.Errorf("Erase: error %v", err)
	}
	stuck.Store(false)
	if err := w.f.x.Erase(t.Context()); err != nil {
		t.Error(err)
	}
	if after := w.files(); len(after) != 1 || after[0] == before[0] {
		t.Errorf("files %v, before %v", after, before)
	}
	if n := len(s.Parts()); n != 1 {
		t.Errorf("a reader sees %d parts", n)
	}
	s.Release()
	w.check()
}
