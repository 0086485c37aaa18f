package engine

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// wallProperty is a second property besides trialShop.
const wallProperty library.PropertyID = "wall/default"

// brokenDisk is a disk on which operations on one property's index fail while broken is true.
type brokenDisk struct {
	vfs.FS
	broken atomic.Bool
	ops    atomic.Pointer[[]errorfs.OpKind] // the operations that fail; nil if all fail
}

func newBrokenDisk(t *testing.T, broken library.PropertyID) *brokenDisk {
	d := &brokenDisk{}
	d.FS = errorfs.Wrap(madeDisk(t), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !d.broken.Load() || !strings.Contains(op.Path, dirName(broken)) {
			return nil
		}
		if ops := d.ops.Load(); ops != nil && !slices.Contains(*ops, op.Kind) {
			return nil
		}
		return syscall.EIO
	}))
	return d
}

func definedProperty(id library.PropertyID) library.Definition {
	namespace, name, _ := strings.Cut(string(id), "/")
	return library.Definition{
		Property: id, Owner: library.Owner{Install: "cluster", Kind: library.KindProperty, Namespace: namespace, Name: name},
		PropertySpec: &library.Property{PlatformPageID: 7},
	}
}

func definedFilter(p library.PropertyID, name string) library.Definition {
	namespace := p.Namespace()
	uuid, id := library.FilterIDs(p, library.KindFilter, namespace, name)
	return library.Definition{
		Property: p, Owner: library.Owner{Install: "cluster", Kind: library.KindFilter, Namespace: namespace, Name: name},
		Filter: &library.Filter{UUID: uuid, ID: id, Name: name, Query: "beach"},
	}
}

// openShop opens a library with the property trialShop, and closes it at the end of the test.
func openShop(t *testing.T, o Options) *Library {
	t.Helper()
	o.Dir = t.TempDir()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	mustApply(t, l, definedProperty(trialShop))
	return l
}

func mustApply(t *testing.T, l *Library, defs ...library.Definition) {
	t.Helper()
	results, err := l.Apply(t.Context(), defs)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil {
			t.Fatalf("definition %d: %v", i, r.Err)
		}
	}
}

func beach(id item.ID) library.Mutation {
	return library.Mutation{Put: &item.Item{ID: id, Content: item.Content{ContentType: item.Image, Text: "beach"}}}
}

func mustWrite(t *testing.T, l *Library, p library.PropertyID, muts ...library.Mutation) {
	t.Helper()
	outcomes, err := l.Write(t.Context(), p, muts)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
}

// beaches returns the number of items with the word beach.
func beaches(t *testing.T, l *Library, p library.PropertyID) (int64, error) {
	t.Helper()
	page, err := l.Read(t.Context(), library.Read{Property: p, Query: query.Term{Text: "beach"}, Limit: 10})
	if err != nil {
		return 0, err
	}
	return page.Total, nil
}

// awaitBeaches waits until a property is served again, and returns the number of items with the word beach.
func awaitBeaches(t *testing.T, l *Library, p library.PropertyID) int64 {
	t.Helper()
	for began := time.Now(); ; runtime.Gosched() {
		n, err := beaches(t, l, p)
		if err == nil {
			return n
		}
		if !errors.Is(err, library.ErrUnavailable) || time.Since(began) > time.Minute {
			t.Fatalf("property %s: %v", p, err)
		}
	}
}

// stalledDisk is a disk on which the creation of a file of one property's index blocks until the gate is closed.
type stalledDisk struct {
	vfs.FS
	property library.PropertyID
	gate     chan struct{}
}

func (d stalledDisk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.Contains(name, dirName(d.property)) {
		<-d.gate
	}
	return d.FS.Create(name, category)
}

// rewriteFormat changes the format number in the segment files of a property, as if another version of Vitrine had written the files. It
// returns the number of files.
func rewriteFormat(t *testing.T, disk vfs.FS, p library.PropertyID, format byte) int {
	t.Helper()
	dir := disk.PathJoin("/store", directory, dirName(p))
	names, err := disk.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range names {
		if !strings.HasSuffix(name, ".seg") {
			continue
		}
		n++
		f, err := disk.Open(disk.PathJoin(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		whole[7], whole[len(whole)-1] = format, format // each end of the file has a magic whose last byte is the format number
		if f, err = disk.Create(disk.PathJoin(dir, name), vfs.WriteCategoryUnspecified); err == nil {
			_, err = f.Write(whole)
			err = errors.Join(err, f.Sync(), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// TestAnIndexOfAnotherFormatIsRebuiltWhileOthersAreServed blocks the rebuild of one property. During the rebuild, the other property must
// be readable and writable, although its index comes later in the order of opening.
func TestAnIndexOfAnotherFormatIsRebuiltWhileOthersAreServed(t *testing.T) {
	disk := madeDisk(t)
	o := Options{Dir: "/store", fs: disk, sealDocs: 2}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, l, definedProperty(trialShop), definedProperty(wallProperty))
	for id := item.ID(1); id <= 6; id++ {
		mustWrite(t, l, trialShop, beach(id))
		mustWrite(t, l, wallProperty, beach(id))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n := rewriteFormat(t, disk, trialShop, '1'); n == 0 {
		t.Fatal("the property has no segment file")
	}

	gate := make(chan struct{})
	o.fs, o.patience = stalledDisk{disk, trialShop, gate}, time.Nanosecond
	if l, err = Open(o); err != nil {
		t.Fatal(err)
	}
	if n := awaitBeaches(t, l, wallProperty); n != 6 {
		t.Errorf("the other property has %d items, want 6", n)
	}
	mustWrite(t, l, wallProperty, beach(7))
	mustApply(t, l, definedFilter(trialShop, "wall"), definedFilter(wallProperty, "wall"))
	if _, err := beaches(t, l, trialShop); !errors.Is(err, library.ErrUnavailable) || !strings.Contains(err.Error(), "the index is being") {
		t.Errorf("a read during the rebuild: %v", err)
	}
	if _, err := l.Write(t.Context(), trialShop, []library.Mutation{beach(7)}); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("a write during the rebuild: %v", err)
	}
	want := map[library.PropertyID]library.Trouble{trialShop: {Unserved: true, Passing: true, Problem: "the index is being opened or rebuilt"}}
	if s := l.State(t.Context()); !s.Ready || s.Problem != "" || cmp.Diff(want, s.Troubles, cmpopts.IgnoreFields(library.Trouble{}, "Progress")) != "" {
		t.Errorf("state %+v", s)
	}
	close(gate)
	if n := awaitBeaches(t, l, trialShop); n != 6 {
		t.Errorf("the rebuilt property has %d items, want 6", n)
	}
	mustWrite(t, l, trialShop, beach(7))
	ref := library.FilterRef{UUID: definedFilter(trialShop, "wall").Filter.UUID}
	if page, err := l.Read(t.Context(), library.Read{Property: trialShop, Filter: &ref, Limit: 10}); err != nil || page.Total != 7 {
		t.Errorf("by the filter that was created while the index was not open: %+v, %v", page, err)
	}
	if s := l.State(t.Context()); !s.Ready || s.Problem != "" || len(s.Troubles) != 0 {
		t.Errorf("state %+v", s)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestAPropertyThatCannotBeIndexed checks that a property whose index cannot be opened is not served, while other properties are. When
// the index can be opened again, the property must be served without a rebuild.
func TestAPropertyThatCannotBeIndexed(t *testing.T) {
	disk := newBrokenDisk(t, trialShop)
	var log safeLog
	o := Options{Dir: "/store", fs: disk, retryAfter: time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	open := func() *Library {
		l, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open()
	mustApply(t, l, definedProperty(trialShop), definedProperty(wallProperty))
	mustWrite(t, l, trialShop, beach(1), beach(2))
	mustWrite(t, l, wallProperty, beach(1))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	disk.broken.Store(true)
	l = open()
	if n, err := beaches(t, l, wallProperty); n != 1 || err != nil {
		t.Errorf("the other property: %d items, %v", n, err)
	}
	mustWrite(t, l, wallProperty, beach(2))
	if _, err := beaches(t, l, trialShop); !errors.Is(err, library.ErrUnavailable) || !errors.Is(err, syscall.EIO) {
		t.Errorf("a read: %v", err)
	}
	_, err := l.ReadItem(t.Context(), library.ItemRead{Property: trialShop, ID: 1})
	if !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("a read of one item: %v", err)
	}
	for what, m := range map[string]library.Mutation{
		"a put": beach(3), "a deletion": {Delete: true, ID: 1}, "an untag": {Untag: &item.Tag{Namespace: "vibe", Key: "bold"}, IDs: []item.ID{1}},
	} {
		if _, err := l.Write(t.Context(), trialShop, []library.Mutation{m}); !errors.Is(err, library.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// The follower must also reject a write that has already passed the check in Library.Write.
	if _, err := l.store.Write(t.Context(), trialShop, []library.Mutation{beach(3)}); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("a write directly to the store: %v", err)
	}
	untag := library.Mutation{Untag: &item.Tag{Namespace: "vibe", Key: "bold"}, IDs: []item.ID{1}}
	if outcomes, err := l.store.Write(t.Context(), trialShop, []library.Mutation{untag}); err != nil || !errors.Is(outcomes[0].Err, library.ErrUnavailable) {
		t.Errorf("the removal of a tag directly from the store: %v, %v; want that its owner is not known", outcomes, err)
	}
	s := l.State(t.Context())
	if trouble := s.Troubles[trialShop]; !s.Ready || s.Problem != "" || !trouble.Unserved || trouble.Passing || len(s.Troubles) != 1 ||
		!strings.Contains(trouble.Problem, "input/output error") {
		t.Errorf("state %+v, want a trouble of only one property", s)
	}
	if err := l.follower.Erase(t.Context()); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("erase: %v", err)
	}
	// One call changes definitions of both properties.
	mustApply(t, l, definedFilter(trialShop, "wall"), definedFilter(wallProperty, "wall"))

	disk.broken.Store(false)
	if n := awaitBeaches(t, l, trialShop); n != 2 {
		t.Errorf("%d items, want 2", n)
	}
	ref := library.FilterRef{UUID: definedFilter(trialShop, "wall").Filter.UUID}
	if page, err := l.Read(t.Context(), library.Read{Property: trialShop, Filter: &ref, Limit: 10}); err != nil || page.Total != 2 {
		t.Errorf("by the filter that was created while the index was not open: %+v, %v", page, err)
	}
	mustWrite(t, l, trialShop, beach(3))
	if n := awaitBeaches(t, l, trialShop); n != 3 {
		t.Errorf("%d items after a write, want 3", n)
	}
	if s = l.State(t.Context()); !s.Ready || s.Problem != "" || len(s.Troubles) != 0 {
		t.Errorf("state %+v", s)
	}
	if err := l.follower.Erase(t.Context()); err != nil {
		t.Errorf("erase: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open()
	if n, err := beaches(t, l, trialShop); n != 3 || err != nil {
		t.Errorf("after a restart: %d items, %v", n, err)
	}
	if said := log.String(); strings.Contains(said, "without its index") || !strings.Contains(said, "cannot open the index") || strings.Contains(said, "rebuil") {
		t.Errorf("the log says\n%s", said)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestAPropertyIsReadWhileItsIndexCannotBeOpened makes the store reopen after a failed write, while the index of one property cannot be
// opened. Reads must use the earlier snapshot of the property, and writes of the property's items must fail.
func TestAPropertyIsReadWhileItsIndexCannotBeOpened(t *testing.T) {
	broken := newBrokenDisk(t, trialShop)
	var full atomic.Bool
	disk := errorfs.Wrap(broken, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	l, err := Open(Options{Dir: "/store", fs: disk, retryAfter: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, l, definedProperty(trialShop), definedProperty(wallProperty))
	mustWrite(t, l, trialShop, beach(1), beach(2))
	full.Store(true)
	if _, err := l.Write(t.Context(), wallProperty, []library.Mutation{beach(1)}); !errors.Is(err, library.ErrUnavailable) {
		t.Fatalf("a write to a full disk: %v", err)
	}
	full.Store(false)
	broken.broken.Store(true)
	// awaitWrite retries a write until it succeeds.
	awaitWrite := func(p library.PropertyID, m library.Mutation) {
		t.Helper()
		for began := time.Now(); ; runtime.Gosched() {
			_, err := l.Write(t.Context(), p, []library.Mutation{m})
			if err == nil {
				return
			}
			if !errors.Is(err, library.ErrUnavailable) || time.Since(began) > time.Minute {
				t.Fatalf("property %s: %v", p, err)
			}
		}
	}
	awaitWrite(wallProperty, beach(2))
	if n, err := beaches(t, l, trialShop); n != 2 || err != nil {
		t.Errorf("with the earlier snapshot: %d items, %v", n, err)
	}
	if _, err := l.Write(t.Context(), trialShop, []library.Mutation{beach(3)}); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("a write: %v", err)
	}
	broken.broken.Store(false)
	awaitWrite(trialShop, beach(3))
	if n, err := beaches(t, l, trialShop); n != 3 || err != nil {
		t.Errorf("after the index was opened: %d items, %v", n, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// safeLog is a log that is safe for concurrent writers.
type safeLog struct {
	out atomic.Pointer[string]
}

func (l *safeLog) Write(b []byte) (int, error) {
	for {
		old := l.out.Load()
		next := string(b)
		if old != nil {
			next = *old + next
		}
		if l.out.CompareAndSwap(old, &next) {
			return len(b), nil
		}
	}
}

func (l *safeLog) String() string {
	if s := l.out.Load(); s != nil {
		return *s
	}
	return ""
}

// TestANewPropertyThatCannotBeIndexed checks that the library accepts the definition of a new property although the property's index
// cannot be created. It must also accept definitions of other properties in the same call.
func TestANewPropertyThatCannotBeIndexed(t *testing.T) {
	disk := newBrokenDisk(t, trialShop)
	disk.broken.Store(true)
	l, err := Open(Options{Dir: "/store", fs: disk, retryAfter: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, l, definedProperty(trialShop), definedProperty(wallProperty))
	mustWrite(t, l, wallProperty, beach(1))
	if _, err := l.Write(t.Context(), trialShop, []library.Mutation{beach(1)}); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("a write: %v", err)
	}
	disk.broken.Store(false)
	if n := awaitBeaches(t, l, trialShop); n != 0 {
		t.Errorf("%d items, want none", n)
	}
	mustWrite(t, l, trialShop, beach(1))
	if n := awaitBeaches(t, l, trialShop); n != 1 {
		t.Errorf("%d items, want 1", n)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestPurgeOfAPropertyThatCannotBeIndexed purges a property whose index cannot be opened, and then creates a property with the same name.
func TestPurgeOfAPropertyThatCannotBeIndexed(t *testing.T) {
	disk := newBrokenDisk(t, trialShop)
	o := Options{Dir: "/store", fs: disk, retryAfter: time.Millisecond}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, l, definedProperty(trialShop), definedProperty(wallProperty))
	mustWrite(t, l, trialShop, beach(1), beach(2))
	if err := l.Close(); err != nil { // seals the items in memory
		t.Fatal(err)
	}
	disk.broken.Store(true)
	if l, err = Open(o); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Remove(t.Context(), []library.Owner{definedProperty(trialShop).Owner}); err != nil {
		t.Fatal(err)
	}
	if err := l.Purge(t.Context(), trialShop); err != nil {
		t.Fatal(err)
	}
	if _, err := beaches(t, l, trialShop); !errors.Is(err, library.ErrNotFound) {
		t.Errorf("a read after the purge: %v", err)
	}
	if err := l.follower.Erase(t.Context()); !errors.Is(err, syscall.EIO) {
		t.Errorf("erase on the broken disk: %v", err)
	}
	disk.broken.Store(false)
	if err := l.follower.Erase(t.Context()); err != nil {
		t.Errorf("erase: %v", err)
	}
	if with := filesWith(t, disk, "/store/"+directory, "beach"); len(with) > 0 {
		t.Errorf("left in %v", with)
	}
	keys, err := l.store.IndexKeys([]byte("p"+trialShop), []byte("p"+trialShop+"\xff"))
	if err != nil || len(keys) > 0 {
		t.Errorf("keys of the index: %q, %v", keys, err)
	}
	mustApply(t, l, definedProperty(trialShop))
	mustWrite(t, l, trialShop, beach(3))
	if n := awaitBeaches(t, l, trialShop); n != 1 {
		t.Errorf("%d items, want 1", n)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// filesWith lists the files below a directory that contain the given text.
func filesWith(t *testing.T, disk vfs.FS, dir, text string) []string {
	t.Helper()
	names, err := disk.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range names {
		path := disk.PathJoin(dir, name)
		info, err := disk.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			found = append(found, filesWith(t, disk, path, text)...)
			continue
		}
		f, err := disk.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(text)) {
			found = append(found, path)
		}
	}
	return found
}

// TestAnInterruptedPurge purges a property while a reader holds the property's files. Then it simulates a crash before the reader
// releases the files. After the store is opened again, no file of the index may contain bytes of the items.
func TestAnInterruptedPurge(t *testing.T) {
	disk := madeDisk(t)
	l, err := Open(Options{Dir: "/store", fs: disk})
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, l, definedProperty(trialShop), definedProperty(wallProperty))
	mustWrite(t, l, trialShop, beach(1))
	if err := l.follower.property(trialShop).segments().Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	root, err := disk.OpenDir("/store")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(root.Sync(), root.Close()); err != nil {
		t.Fatal(err)
	}
	_, release, err := l.follower.property(trialShop).snapshot(t.Context(), l.store.Now())
	if err != nil {
		t.Fatal(err)
	}
	if with := filesWith(t, disk, "/store/"+directory, "beach"); len(with) == 0 {
		t.Fatal("no file of the index has the text")
	}
	if _, err := l.Remove(t.Context(), []library.Owner{definedProperty(trialShop).Owner}); err != nil {
		t.Fatal(err)
	}
	if err := l.Purge(t.Context(), trialShop); err != nil {
		t.Fatal(err)
	}
	if with := filesWith(t, disk, "/store/"+directory, "beach"); len(with) > 0 {
		t.Errorf("after the purge, while a reader holds them: %v", with)
	}
	// The removal of the files is not durable yet, so a crash at this time restores them.
	after := disk.CrashClone(vfs.CrashCloneCfg{})
	release()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if with := filesWith(t, after, "/store/"+directory, "beach"); len(with) == 0 {
		t.Fatal("the crash did not restore the files, so the test checks nothing")
	}
	if l, err = Open(Options{Dir: "/store", fs: after}); err != nil {
		t.Fatal(err)
	}
	if err := l.follower.Erase(t.Context()); err != nil {
		t.Error(err)
	}
	if with := filesWith(t, after, "/store/"+directory, "beach"); len(with) > 0 {
		t.Errorf("after a restart: %v", with)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestEraseAfterAFailedPurge checks that an erasure removes files that a purge could not remove, but not the files of a new property with
// the same name.
func TestEraseAfterAFailedPurge(t *testing.T) {
	disk := newBrokenDisk(t, trialShop)
	l, err := Open(Options{Dir: "/store", fs: disk})
	if err != nil {
		t.Fatal(err)
	}
	disk.ops.Store(&[]errorfs.OpKind{errorfs.OpRemove, errorfs.OpRemoveAll})
	for _, comesBack := range []bool{false, true} {
		mustApply(t, l, definedProperty(trialShop))
		mustWrite(t, l, trialShop, beach(1))
		if err := l.follower.property(trialShop).segments().Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		disk.broken.Store(true)
		if _, err := l.Remove(t.Context(), []library.Owner{definedProperty(trialShop).Owner}); err != nil {
			t.Fatal(err)
		}
		if err := l.Purge(t.Context(), trialShop); err != nil {
			t.Fatal(err)
		}
		if comesBack {
			mustApply(t, l, definedProperty(trialShop))
			mustWrite(t, l, trialShop, library.Mutation{Put: &item.Item{ID: 2, Content: item.Content{ContentType: item.Image, Text: "city"}}})
			if err := l.follower.property(trialShop).segments().Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.follower.Erase(t.Context()); !errors.Is(err, syscall.EIO) {
			t.Errorf("erase (comes back: %t) on the broken disk: %v", comesBack, err)
		}
		if with := filesWith(t, disk, "/store/"+directory, "beach"); len(with) == 0 {
			t.Error("the purge removed all files, so the test checks nothing")
		}
		disk.broken.Store(false)
		if err := l.follower.Erase(t.Context()); err != nil {
			t.Errorf("erase (comes back: %t): %v", comesBack, err)
		}
		if with := filesWith(t, disk, "/store/"+directory, "beach"); len(with) > 0 {
			t.Errorf("after the erasure (comes back: %t): still in %v", comesBack, with)
		}
		if with := filesWith(t, disk, "/store/"+directory, "city"); comesBack != (len(with) > 0) {
			t.Errorf("comes back: %t: the text of the new property is in %v", comesBack, with)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
