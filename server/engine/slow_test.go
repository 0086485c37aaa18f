package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// slowDisk is a disk on which the test can block writes.
type slowDisk struct {
	vfs.FS
	// only is a part of the paths of the files for which writes are blocked.
	only string
	mu   sync.Mutex
	// gate is closed to release all blocked writes. It is nil while the disk does not block writes.
	gate chan struct{}
	// arrived receives a signal when a write is blocked.
	arrived chan struct{}
}

func newSlowDisk(under vfs.FS, only string) *slowDisk {
	d := &slowDisk{only: only, arrived: make(chan struct{}, 1)}
	d.FS = errorfs.Wrap(under, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.Contains(op.Path, d.only) {
			d.wait()
		}
		return nil
	}))
	return d
}

func (d *slowDisk) wait() {
	d.mu.Lock()
	gate := d.gate
	d.mu.Unlock()
	if gate == nil {
		return
	}
	select {
	case d.arrived <- struct{}{}:
	default:
	}
	<-gate
}

// slow blocks all further writes.
func (d *slowDisk) slow() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate = make(chan struct{})
}

// step releases the blocked writes, and blocks later ones.
func (d *slowDisk) step() {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.gate)
	d.gate = make(chan struct{})
}

// quick releases all blocked writes, and does not block later ones.
func (d *slowDisk) quick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gate != nil {
		close(d.gate)
		d.gate = nil
	}
}

// slowLibrary returns a library with one property and some items on a slowDisk. The disk does not block writes yet.
func slowLibrary(t *testing.T, disk *slowDisk, sealDocs, items int) *Library {
	t.Helper()
	l, err := Open(Options{Dir: "/store", fs: disk, sealDocs: sealDocs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		disk.quick()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	results, err := l.Apply(t.Context(), []library.Definition{{
		Property: trialShop, Owner: library.Owner{Install: "cluster", Kind: library.KindProperty, Namespace: "shop", Name: "default"},
		PropertySpec: &library.Property{PlatformPageID: 7},
	}})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	if err := putSlow(t.Context(), l, 1, items); err != nil {
		t.Fatal(err)
	}
	return l
}

// putSlow writes n new items in one call. Their IDs begin with `first`.
func putSlow(ctx context.Context, l *Library, first, n int) error {
	muts := make([]library.Mutation, n)
	for i := range muts {
		muts[i] = library.Mutation{Put: &item.Item{
			ID: item.ID(first + i), ApprovalStatus: item.Approved,
			Content: item.Content{ContentType: item.Text, Text: fmt.Sprintf("beach number%d", first+i)},
		}}
	}
	outcomes, err := l.Write(ctx, trialShop, muts)
	for _, o := range outcomes {
		err = errors.Join(err, o.Err)
	}
	return err
}

// checkSlow checks that a read finds `want` items and that the library is ready.
func checkSlow(t *testing.T, l *Library, when string, want int) {
	t.Helper()
	page, err := l.Read(t.Context(), library.Read{Property: trialShop, Query: query.FieldTerm("text", "beach"), Limit: 5})
	if err != nil {
		t.Fatalf("%s: a read: %v", when, err)
	}
	if page.Total != int64(want) {
		t.Errorf("%s: %d items, want %d", when, page.Total, want)
	}
	if _, err := l.ItemTags(t.Context(), trialShop, 1); err != nil {
		t.Errorf("%s: the tags of an item: %v", when, err)
	}
	if s := l.State(t.Context()); !s.Ready {
		t.Errorf("%s: not ready: %s", when, s.Problem)
	}
}

// TestSlowDiskDelaysOnlyWriters blocks all writes to the log. No write may be acknowledged or visible before it is on disk. A write that is
// canceled while it is in the queue must not change anything. Readers must not be delayed.
func TestSlowDiskDelaysOnlyWriters(t *testing.T) {
	const before, writers = 10, 64
	under := madeDisk(t)
	disk := newSlowDisk(under, ".log")
	l := slowLibrary(t, disk, 0, before)

	disk.slow()
	var answered atomic.Int64
	answers := make(chan int, writers)
	for w := range writers {
		go func() {
			if err := putSlow(context.WithoutCancel(t.Context()), l, 1000+w, 1); err != nil {
				t.Errorf("writer %d: %v", w, err)
			}
			answered.Add(1)
			answers <- 1000 + w
		}()
	}
	select {
	case <-disk.arrived: // the first write is blocked, and the writer goroutine takes no other write
	case id := <-answers:
		t.Fatalf("item %d was acknowledged before it was written to disk", id)
	}
	for range 100 {
		checkSlow(t, l, "while the disk is slow", before)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() { gaveUp <- putSlow(ctx, l, 5000, 1) }()
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled write: %v", err)
	}
	if n := answered.Load(); n != 0 {
		t.Errorf("%d writes were acknowledged before they were on disk", n)
	}
	if slowStored(t, under)[5000] {
		t.Error("the store contains the item of a canceled write")
	}

	// Release the blocked writes step by step until all callers have a reply. An acknowledged item must survive a crash immediately after
	// the reply.
	disk.step()
	for left := writers; left > 0; {
		select {
		case <-disk.arrived:
			disk.step()
		case id := <-answers:
			left--
			if left == writers-1 || left == 0 {
				if !slowStored(t, under)[item.ID(id)] {
					t.Errorf("item %d was acknowledged, but is lost after a crash", id)
				}
			}
		}
	}
	disk.quick()
	checkSlow(t, l, "afterwards", before+writers)
}

// slowStored lists the items that exist after a crash of the machine in which all unsynced data is lost.
func slowStored(t *testing.T, disk *vfs.MemFS) map[item.ID]bool {
	t.Helper()
	l, err := Open(Options{Dir: "/store", fs: disk.CrashClone(vfs.CrashCloneCfg{})})
	if err != nil {
		t.Fatal(err)
	}
	stored := map[item.ID]bool{}
	for it, err := range l.store.Items(t.Context(), trialShop) {
		if err != nil {
			t.Fatal(err)
		}
		stored[it.ID] = true
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return stored
}

// TestSlowSealingDelaysWriters blocks only writes to segment files. When memory holds twice as many documents as a file, writers must wait
// until their context ends or the disk no longer blocks writes. Readers must not be delayed.
func TestSlowSealingDelaysWriters(t *testing.T) {
	const sealDocs, batch, before = 40, 10, 10
	disk := newSlowDisk(madeDisk(t), ".seg")
	l := slowLibrary(t, disk, sealDocs, before)

	disk.slow()
	next := before + 1
	for ; next <= 2*sealDocs; next += batch {
		if err := putSlow(t.Context(), l, next, batch); err != nil {
			t.Fatal(err)
		}
	}
	<-disk.arrived // a file is being created
	checkSlow(t, l, "while a file is being created", next-1)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := putSlow(ctx, l, next, batch); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a write while memory is full: error %v, want DeadlineExceeded", err)
	}
	const writers = 8
	answers := make(chan error, writers)
	for w := range writers {
		go func() { answers <- putSlow(t.Context(), l, next+w*batch, batch) }()
	}
	for range 100 {
		checkSlow(t, l, "while writers wait", next-1)
	}
	if s := l.follower.property(trialShop).segments().Stats(); s.Docs != 2*sealDocs || s.Files != 0 {
		t.Errorf("%d documents in memory and in %d files, want twice %d in none", s.Docs, s.Files, sealDocs)
	}
	disk.quick()
	for range writers {
		if err := <-answers; err != nil {
			t.Errorf("a write that waited: %v", err)
		}
	}
	checkSlow(t, l, "afterwards", next-1+writers*batch)
}
