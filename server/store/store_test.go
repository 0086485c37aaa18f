package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

const shop library.PropertyID = "shop/default"

func shopProperty() library.Definition {
	return library.Definition{
		Property:     shop,
		Owner:        library.Owner{Install: "cluster", Kind: library.KindProperty, Namespace: "shop", Name: "default"},
		PropertySpec: &library.Property{PlatformPageID: 1},
	}
}

// mustStart opens a store, and closes it at the end of the test.
func mustStart(t testing.TB, o Options) *opened {
	t.Helper()
	l, err := open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

// mustOpen is like mustStart, but also applies the property shop.
func mustOpen(t testing.TB, o Options) *opened {
	t.Helper()
	l := mustStart(t, o)
	results, err := l.Apply(t.Context(), []library.Definition{shopProperty()})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	return l
}

func post(text string) library.Mutation {
	return library.Mutation{Put: &item.Item{
		ApprovalStatus: item.Approved, CreatedOn: "2026-11-20T08:00:00Z",
		Content: item.Content{ContentType: item.Image, Text: text},
	}}
}

func write(t testing.TB, l *opened, muts ...library.Mutation) []library.Outcome {
	t.Helper()
	outcomes, err := l.Write(t.Context(), shop, muts)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	return outcomes
}

// total returns the number of items with a word, or of all items if word is "".
func total(t testing.TB, l *opened, word string) int64 {
	t.Helper()
	return l.items.count(word)
}

func TestOneStoreOneHolder(t *testing.T) {
	dir := t.TempDir()
	since := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	first := mustOpen(t, Options{Dir: dir, Clock: func() time.Time { return since }})
	_, err := open(Options{Dir: dir})
	locked, ok := errors.AsType[*LockedError](err)
	if !ok {
		t.Fatalf("a second opening: %v, want a *LockedError", err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if locked.PID != os.Getpid() || locked.Host != host || !locked.Since.Equal(since) {
		t.Errorf("the holder is %+v, want this process", locked)
	}
	want := fmt.Sprintf("store at %s is in use by process %d on %s since 2026-11-21T08:00:00Z", dir, os.Getpid(), host)
	if !strings.HasPrefix(locked.Error(), want) {
		t.Errorf("message %q, want it to begin with %q", locked, want)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, Options{Dir: dir})
}

func TestDirectoryThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"none": "", "a file": file} {
		t.Run(name, func(t *testing.T) {
			_, err := open(Options{Dir: dir})
			if err == nil {
				t.Fatal("opened")
			}
			if _, locked := errors.AsType[*LockedError](err); locked {
				t.Errorf("error %v speaks of a lock", err)
			}
		})
	}
}

// silent is a logger that discards everything, for databases that tests open themselves.
type silent struct{}

func (silent) Infof(string, ...any)           {}
func (silent) Errorf(string, ...any)          {}
func (silent) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

// edit changes the database of a closed store, without a Store.
func edit(t *testing.T, dir string, change func(*pebble.DB) error) {
	t.Helper()
	db, err := pebble.Open(filepath.Join(dir, "pebble"), &pebble.Options{FormatMajorVersion: pebbleFormat, Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(change(db), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestNewerFormatIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := mustOpen(t, Options{Dir: dir}).Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, dir, func(db *pebble.DB) error {
		return db.Set([]byte(keyFormat), []byte(`{"version":7,"needs":"3.2.1"}`), pebble.Sync)
	})
	_, err := open(Options{Dir: dir})
	newer, ok := errors.AsType[*NewerFormatError](err)
	if !ok {
		t.Fatalf("error %v, want a *NewerFormatError", err)
	}
	if newer.Version != 7 || !strings.Contains(newer.Error(), "Vitrine 3.2.1 or newer") {
		t.Errorf("message %q", newer)
	}
	if newer.Needs = formatNeeds; !strings.Contains(newer.Error(), "a development build") {
		t.Errorf("message for a store of a development build: %q", newer)
	}
}

func TestForeignDatabaseIsRefused(t *testing.T) {
	dir := t.TempDir()
	edit(t, dir, func(db *pebble.DB) error { return db.Set([]byte("theirs"), nil, pebble.Sync) })
	if _, err := open(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "not created by Vitrine") {
		t.Errorf("error %v, want one that says whose it is not", err)
	}
}

// TestEveryChangeHasAnUpgrade fails if a change of the stored data has no step, without which checkFormat would only stamp older stores.
func TestEveryChangeHasAnUpgrade(t *testing.T) {
	if n := len(upgrades()); n != otherChanges {
		t.Errorf("%d upgrades for %d changes of the stored data (see otherChanges)", n, otherChanges)
	}
}

func TestOlderFormatIsUpgradedStepByStep(t *testing.T) {
	db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem(), FormatMajorVersion: pebbleFormat, Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	check := func(current int, steps map[int]upgrade) error {
		return checkFormat(db, "store", format{Version: current, Needs: "9.0.0"}, steps)
	}
	version := func() int {
		f, err := readFormat(db)
		if err != nil {
			t.Fatal(err)
		}
		return f.Version
	}
	if err := check(1, nil); err != nil || version() != 1 {
		t.Fatalf("a new store: %v, version %d", err, version())
	}
	var done []string
	step := func(name string, err error) upgrade {
		return func(_ *pebble.DB, b *pebble.Batch) error {
			done = append(done, name)
			return errors.Join(err, b.Set([]byte(name), []byte("x"), nil))
		}
	}
	broken := errors.New("broken")
	if err := check(3, map[int]upgrade{1: step("one", nil), 2: step("two", broken)}); !errors.Is(err, broken) || version() != 2 {
		t.Fatalf("with a broken second step: %v, version %d, want it to stay at 2", err, version())
	}
	if _, _, err := db.Get([]byte("two")); !errors.Is(err, pebble.ErrNotFound) {
		t.Errorf("a failed step left something: %v", err)
	}
	if err := check(3, map[int]upgrade{1: step("one", nil), 2: step("two", nil)}); err != nil || version() != 3 {
		t.Fatalf("the second step again: %v, version %d", err, version())
	}
	if got := strings.Join(done, " "); got != "one two two" {
		t.Errorf("steps %s, want each once, and the failed one again", got)
	}
	if err := check(3, nil); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
	if err := check(4, nil); err != nil || version() != 4 {
		t.Errorf("another form of items, which needs no step: %v, version %d", err, version())
	}
}

func TestDamageIsSaidClearly(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	write(t, l, post(strings.Repeat("beach ", 1000)))
	if err := l.db.pebble.Flush(); err != nil { // into a table
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "pebble", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("tables %v, %v", tables, err)
	}
	for _, table := range tables {
		content, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 64 {
			content[i] ^= 0xff
		}
		if err := os.WriteFile(table, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err = open(Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "restore the newest backup") {
		t.Fatalf("error %v, want one that names the store and says what to do", err)
	}
	// Open must have released the lock, so that the operator can restore a backup to the directory.
	if _, again := open(Options{Dir: dir}); errors.As(again, new(*LockedError)) {
		t.Errorf("the store that could not be opened is still locked: %v", again)
	}
}

func TestAKeyThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct{ key, value []byte }{
		"an item":       {itemKey(shop, 1), []byte("{")},
		"a definition":  {ownedKey(shopProperty().Owner), []byte("{")},
		"a sequence":    {propertyKey(shop, underSequence), []byte("1")},
		"an unknown":    {[]byte("zzz"), nil},
		"half a key":    {[]byte("pshop"), nil},
		"a format":      {[]byte(keyFormat), []byte("1")},
		"a tag":         {append(propertyKey(shop, underTag), "x"...), nil},
		"under nothing": {propertyKey(shop, 'z'), nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := mustOpen(t, Options{Dir: dir}).Close(); err != nil {
				t.Fatal(err)
			}
			edit(t, dir, func(db *pebble.DB) error { return db.Set(c.key, c.value, pebble.Sync) })
			l, err := open(Options{Dir: dir})
			if err == nil {
				t.Error("opened", l.Close())
			} else if !strings.Contains(err.Error(), dir) {
				t.Errorf("error %v does not say which store", err)
			}
		})
	}
}

// faultyDisk is a file system in memory whose writes fail while full is true.
type faultyDisk struct {
	full atomic.Bool
	fs   vfs.FS
}

func newFaultyDisk() *faultyDisk {
	d := &faultyDisk{}
	d.fs = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if d.full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && !strings.Contains(op.Path, lockName) {
			return &fs.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
		}
		return nil
	}))
	return d
}

func TestAFullDisk(t *testing.T) {
	disk := newFaultyDisk()
	l := mustOpen(t, Options{Dir: "store", FS: disk.fs, RetryAfter: time.Nanosecond})
	write(t, l, post("before"))

	disk.full.Store(true)
	for range 3 {
		_, err := l.Write(t.Context(), shop, []library.Mutation{post("lost")})
		if !errors.Is(err, library.ErrUnavailable) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("a write to a full disk: %v, want ErrUnavailable because of ENOSPC", err)
		}
	}
	if _, err := l.Apply(t.Context(), []library.Definition{shopProperty()}); !errors.Is(err, library.ErrUnavailable) {
		t.Errorf("apply: %v, want ErrUnavailable", err)
	}
	if it, err := l.Item(shop, 1); err != nil || it.Content.Text != "before" {
		t.Errorf("an item is read as %+v, %v", it, err)
	}
	if s := l.State(t.Context()); !s.Ready || !strings.Contains(s.Problem, "no space") {
		t.Errorf("state %+v, want reads served and a problem with the disk", s)
	}
	if n := total(t, l, ""); n != 1 {
		t.Errorf("%d items can be read, want 1", n)
	}

	disk.full.Store(false)
	write(t, l, post("after"))
	if s := l.State(t.Context()); !s.Ready || s.Problem != "" {
		t.Errorf("state %+v once there is room", s)
	}
	// Refused writes may or may not be stored, because they were not acknowledged. Acknowledged writes must be stored.
	for _, word := range []string{"before", "after"} {
		if total(t, l, word) != 1 {
			t.Errorf("the item %q is not there", word)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, Options{Dir: "store", FS: disk.fs})
	for _, word := range []string{"before", "after"} {
		if total(t, l, word) != 1 {
			t.Errorf("after a restart the item %q is not there", word)
		}
	}
}

// killed returns the file system of a store as if its process had been killed after it wrote these items. The items are only in the log of
// the store.
func killed(t *testing.T, texts ...string) *vfs.MemFS {
	t.Helper()
	mem := vfs.NewCrashableMem()
	l := mustOpen(t, Options{Dir: "store", FS: mem})
	for _, text := range texts {
		write(t, l, post(text))
	}
	return mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
}

// refusing returns a file system that reports a full disk for the write operations that refuses selects, while on is true.
func refusing(disk vfs.FS, on *atomic.Bool, refuses func(errorfs.Op) bool) vfs.FS {
	return errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if on.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpRemove && refuses(op) {
			return &fs.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
		}
		return nil
	}))
}

// TestStartOnAFullDisk checks that a store that starts on a full disk serves reads, and accepts writes once the disk has room.
func TestStartOnAFullDisk(t *testing.T) {
	everything := func(op errorfs.Op) bool { return path.Base(op.Path) != lockName && op.Kind != errorfs.OpMkdirAll }
	for name, refuses := range map[string]func(errorfs.Op) bool{
		"no file can be made": everything,
		// Pebble writes the content of the log into a table, which does not fit on the disk. It retries this endlessly.
		"no room for a table": func(op errorfs.Op) bool { return path.Ext(op.Path) == ".sst" },
	} {
		t.Run(name, func(t *testing.T) {
			var full atomic.Bool
			disk := refusing(killed(t, "before"), &full, refuses)
			full.Store(true)
			l := mustStart(t, Options{Dir: "store", FS: disk, RetryAfter: time.Nanosecond})
			for range 3 {
				if _, err := l.Write(t.Context(), shop, []library.Mutation{post("lost")}); !errors.Is(err, library.ErrUnavailable) || !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("a write to a full disk: %v, want ErrUnavailable because of ENOSPC", err)
				}
			}
			if it, err := l.Item(shop, 1); err != nil || it.Content.Text != "before" || total(t, l, "before") != 1 {
				t.Errorf("an item is read as %+v, %v", it, err)
			}
			if s := l.State(t.Context()); !s.Ready || !strings.Contains(s.Problem, "no space") {
				t.Errorf("state %+v, want reads served and a problem with the disk", s)
			}
			full.Store(false)
			write(t, l, post("after"))
			if total(t, l, "before") != 1 || total(t, l, "after") != 1 {
				t.Error("items are lost")
			}
			if s := l.State(t.Context()); s.Problem != "" {
				t.Errorf("state %+v once there is room", s)
			}
		})
	}
}

// TestLittleRoom checks that a failed store is not reopened until the disk has room for the content of its logs.
func TestLittleRoom(t *testing.T) {
	mem := killed(t, strings.Repeat("long ", 1<<20))
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: probeSize + 1<<20})
	l := mustStart(t, Options{Dir: "store", FS: mem, RetryAfter: time.Nanosecond})
	if _, err := l.Write(t.Context(), shop, []library.Mutation{post("lost")}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a write: %v, want ENOSPC", err)
	}
	if _, err := l.Item(shop, 1); err != nil {
		t.Errorf("read the item: %v", err)
	}
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 100 << 20})
	write(t, l, post("after"))
}

// TestAPartOfADatabase checks that the store refuses to open a database without the marker file, and does not change the other files.
func TestAPartOfADatabase(t *testing.T) {
	mem := killed(t, "before")
	dir := mem.PathJoin("store", databaseName)
	names, err := mem.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, markerPrefix) {
			if err := mem.Remove(mem.PathJoin(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s, err := Open(Options{Dir: "store", FS: mem}, &items{}); !errors.Is(err, errNoMarker) {
		t.Fatalf("%v, %v; want errNoMarker", s, err)
	}
	left, err := mem.List(dir)
	if err != nil || len(left) != len(names)-1 {
		t.Errorf("%d files of %d are left (%v)", len(left), len(names)-1, err)
	}
}

// TestAnIndexThatCannotBeLoaded checks that a store neither opens nor reopens if Index.Load fails.
func TestAnIndexThatCannotBeLoaded(t *testing.T) {
	disk := newFaultyDisk()
	unreadable := errors.New("unreadable")
	if s, err := Open(Options{Dir: "store", FS: disk.fs}, &items{loadError: unreadable}); !errors.Is(err, unreadable) {
		t.Fatalf("%v, %v", s, err)
	}
	l := mustOpen(t, Options{Dir: "store", FS: disk.fs, RetryAfter: time.Nanosecond})
	write(t, l, post("before"))
	disk.full.Store(true)
	if _, err := l.Write(t.Context(), shop, []library.Mutation{post("lost")}); err == nil {
		t.Fatal("a write to a full disk")
	}
	disk.full.Store(false)
	l.items.setLoadError(unreadable)
	if _, err := l.Write(t.Context(), shop, []library.Mutation{post("lost")}); !errors.Is(err, library.ErrUnavailable) || !errors.Is(err, unreadable) {
		t.Errorf("a write without an index: %v", err)
	}
	if it, err := l.Item(shop, 1); err != nil || it.Content.Text != "before" || total(t, l, "before") != 1 {
		t.Errorf("an item is read as %+v, %v", it, err)
	}
	l.items.setLoadError(nil)
	write(t, l, post("after"))
	if total(t, l, "before") != 1 || total(t, l, "after") != 1 {
		t.Error("items are lost")
	}
}

func TestAStoreRecoversWithoutAWrite(t *testing.T) {
	disk := newFaultyDisk()
	l := mustOpen(t, Options{Dir: "store", FS: disk.fs, RetryAfter: time.Millisecond})
	disk.full.Store(true)
	if _, err := l.Write(t.Context(), shop, []library.Mutation{post("lost")}); err == nil {
		t.Fatal("a write to a full disk")
	}
	disk.full.Store(false)
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for l.State(t.Context()).Problem != "" {
		select {
		case <-deadline:
			t.Fatal("still not ready")
		case <-tick.C:
		}
	}
}

// TestFaultsAnywhere makes the n-th write operation of a workload fail, for every n. The store must not lose acknowledged writes.
func TestFaultsAnywhere(t *testing.T) {
	finished := false
	for n := int32(0); !finished && n < 500; n++ {
		mem := vfs.NewMem()
		index := errorfs.OnIndex(n)
		var armed atomic.Bool
		disk := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if !armed.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite || strings.Contains(op.Path, lockName) {
				return nil
			}
			return index.MaybeError(op)
		}))
		l, err := open(Options{Dir: "store", FS: disk, RetryAfter: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Apply(t.Context(), []library.Definition{shopProperty()}); err != nil {
			t.Fatal(err)
		}
		doomed := write(t, l, post("doomed"))[0].ID
		armed.Store(true)
		acknowledged := map[string]bool{}
		for i := range 6 {
			word := fmt.Sprintf("word%d", i)
			if _, err := l.Write(t.Context(), shop, []library.Mutation{post(word), post(word)}); err == nil {
				acknowledged[word] = true
			}
			if i == 3 {
				_, _ = l.Write(t.Context(), shop, []library.Mutation{{Delete: true, ID: doomed}})
				_ = l.eraser.erase() // the flush or the compaction may fail
			}
		}
		armed.Store(false)
		finished = index.Load() >= 0
		_ = l.Close() // ignore the error, which may be the fault
		l, err = open(Options{Dir: "store", FS: mem})
		if err != nil {
			t.Fatalf("fault %d: open again: %v", n, err)
		}
		for i := range 6 {
			word := fmt.Sprintf("word%d", i)
			found := total(t, l, word)
			if acknowledged[word] && found != 2 || found == 1 {
				t.Errorf("fault %d: %d of two items of %s, acknowledged: %t", n, found, word, acknowledged[word])
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFaultsWhileOpening makes the n-th write operation of a start fail, for every n. Neither the process nor an item may be lost.
func TestFaultsWhileOpening(t *testing.T) {
	for n := int32(0); n < 500; n++ {
		mem := killed(t, "before")
		index := errorfs.OnIndex(n)
		l, err := open(Options{Dir: "store", RetryAfter: time.Nanosecond, FS: errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
				return nil
			}
			return index.MaybeError(op)
		}))})
		if err == nil {
			_ = l.Close() // ignore the error, which may be the fault
		}
		l = mustOpen(t, Options{Dir: "store", FS: mem})
		if total(t, l, "before") != 1 {
			t.Fatalf("fault %d: the item is lost", n)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if index.Load() >= 0 {
			return // the start needed fewer operations
		}
	}
	t.Error("a start never succeeded")
}

// countingDisk counts the syncs of the log.
type countingDisk struct {
	vfs.FS
	syncs atomic.Int64
	// gate, if not nil, blocks the next sync until the channel is closed.
	gate atomic.Pointer[chan struct{}]
}

func (d *countingDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	if err != nil || filepath.Ext(name) != ".log" {
		return f, err
	}
	return &countedFile{File: f, d: d}, nil
}

type countedFile struct {
	vfs.File
	d *countingDisk
}

func (f *countedFile) count() {
	f.d.syncs.Add(1)
	if gate := f.d.gate.Load(); gate != nil {
		<-*gate
	}
}

func (f *countedFile) Sync() error     { f.count(); return f.File.Sync() }
func (f *countedFile) SyncData() error { f.count(); return f.File.SyncData() }
func (f *countedFile) SyncTo(n int64) (bool, error) {
	f.count()
	return f.File.SyncTo(n)
}

// TestConcurrentWritersShareAnFsync checks that many small writes that wait for another write share a commit. Writes of long texts must not
// share a commit, because a commit needs several times the size of its data in memory.
func TestConcurrentWritersShareAnFsync(t *testing.T) {
	const writers = 50
	for name, tc := range map[string]struct {
		text  string
		share bool
	}{
		"short texts": {"x", true},
		"long texts":  {strings.Repeat("x", 1<<20), false},
	} {
		t.Run(name, func(t *testing.T) {
			disk := &countingDisk{FS: vfs.NewMem()}
			l := mustOpen(t, Options{Dir: "store", FS: disk, MemoryBytes: 16 << 20})
			gate := make(chan struct{})
			disk.gate.Store(&gate)
			before := disk.syncs.Load()
			var begun, wg sync.WaitGroup
			begun.Add(writers)
			for range writers {
				wg.Go(func() {
					begun.Done()
					if _, err := l.Write(context.WithoutCancel(t.Context()), shop, []library.Mutation{post(tc.text)}); err != nil {
						t.Error(err)
					}
				})
			}
			begun.Wait()
			// Wait until the first commit is blocked at the gate. The other writes then wait for that commit.
			for disk.syncs.Load() == before {
				runtime.Gosched()
			}
			disk.gate.Store(nil)
			close(gate)
			wg.Wait()
			if syncs := disk.syncs.Load() - before; tc.share != (syncs < writers) {
				t.Errorf("%d writes took %d fsyncs", writers, syncs)
			}
			if n := total(t, l, ""); n != writers {
				t.Errorf("%d items, want %d", n, writers)
			}
		})
	}
}

// TestTheCacheHasRoom checks that the memtables, whose memory is a part of the cache, leave room for blocks.
func TestTheCacheHasRoom(t *testing.T) {
	for _, memory := range []int64{0, 4 << 20, 64 << 20, 1 << 30} {
		o, err := Options{Dir: "store", MemoryBytes: memory}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		s := (&database{}).settings(o)
		if most := int64(s.MemTableSize) * int64(s.MemTableStopWritesThreshold); most > s.CacheSize*3/4 {
			t.Errorf("of %d bytes memtables may take %d", s.CacheSize, most)
		}
	}
}

func TestErasedBytesLeaveTheFiles(t *testing.T) {
	const secret = "xylophone9ann"
	for name, erase := range map[string]func(id item.ID) library.Mutation{
		"the item": func(id item.ID) library.Mutation { return library.Mutation{Delete: true, ID: id} },
		"its submission": func(id item.ID) library.Mutation {
			patch, err := item.ParsePatch([]byte(`{"submission":null}`))
			if err != nil {
				t.Fatal(err)
			}
			return library.Mutation{ID: id, Patch: patch}
		},
		"a part of its submission": func(id item.ID) library.Mutation {
			return library.Mutation{Replace: true, Put: &item.Item{ID: id, Submission: []byte(`{"name":"Ann"}`)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := mustOpen(t, Options{Dir: dir})
			m := post("goes")
			m.Put.Submission = []byte(`{"name":"Ann","email":"` + secret + `"}`)
			id := write(t, l, m)[0].ID
			write(t, l, post("stays"))
			if len(filesWith(t, dir, secret)) == 0 {
				t.Fatal("no file holds the item, so that the test would see nothing")
			}
			write(t, l, erase(id))
			if err := l.eraser.erase(); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil { // waits for obsolete files to be removed
				t.Fatal(err)
			}
			if files := filesWith(t, dir, secret); len(files) > 0 {
				t.Errorf("what was erased is still in %v", files)
			}
		})
	}
}

// TestTheHistoryIsErasedWithTheItem checks that the bytes of a history leave the files.
func TestTheHistoryIsErasedWithTheItem(t *testing.T) {
	const secret = "xylophone9ann"
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	id := write(t, l, post("goes"))[0].ID
	write(t, l, post("stays"))
	patch, err := item.ParsePatch([]byte(`{"featured":true}`))
	if err != nil {
		t.Fatal(err)
	}
	write(t, l, library.Mutation{ID: id, Patch: patch, Reason: secret})
	if len(filesWith(t, dir, secret)) == 0 {
		t.Fatal("no file holds the history, so that the test would see nothing")
	}
	write(t, l, library.Mutation{Delete: true, ID: id})
	if err := l.eraser.erase(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil { // waits for obsolete files to be removed
		t.Fatal(err)
	}
	if files := filesWith(t, dir, secret); len(files) > 0 {
		t.Errorf("the history is still in %v", files)
	}
}

// TestErasureOutlivesARestart deletes an item just before the process is killed. After the store is opened again, it must erase the bytes
// of the item.
func TestErasureOutlivesARestart(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	const secret = "xylophone9ann"
	id := write(t, l, post(secret))[0].ID
	write(t, l, post("stays"))
	write(t, l, library.Mutation{Delete: true, ID: id})
	dir = copyOf(t, dir) // as if the process was killed, because Close erases
	if len(filesWith(t, dir, secret)) == 0 {
		t.Fatal("no file holds the item, so that the test would see nothing")
	}
	l = mustOpen(t, Options{Dir: dir, EraseWithin: 2 * time.Millisecond})
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for l.db.pebble.Metrics().Compact.Count == 0 {
		select {
		case <-deadline:
			t.Fatal("nothing was rewritten")
		case <-tick.C:
		}
	}
	if err := l.Close(); err != nil { // waits for obsolete files to be removed
		t.Fatal(err)
	}
	if files := filesWith(t, dir, secret); len(files) > 0 {
		t.Errorf("the erased item is still in %v", files)
	}
}

// copyOf returns a copy of a directory. If the directory belongs to an open store, copyOf begins again when the store removes a file.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	for {
		to := t.TempDir()
		err := os.CopyFS(to, os.DirFS(dir))
		if err == nil {
			return to
		}
		if !errors.Is(err, fs.ErrNotExist) || t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// filesWith lists the files of a directory that contain a text, compressed or not.
func filesWith(t *testing.T, dir, text string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil && isTable(path) {
			var unpacked []byte
			unpacked, err = tableContent(path)
			content = append(content, unpacked...)
		}
		if bytes.Contains(content, []byte(text)) {
			files = append(files, d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// tableContent returns the keys and values of a table, including those that later ones replace or delete.
func tableContent(name string) (content []byte, err error) {
	file, err := vfs.Default.Open(name)
	if err != nil {
		return nil, err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return nil, err
	}
	table, err := sstable.NewReader(context.Background(), readable, sstable.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, table.Close()) }()
	entries, err := table.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, entries.Close()) }()
	for entry := entries.First(); entry != nil; entry = entries.Next() {
		value, _, err := entry.Value(nil)
		if err != nil {
			return nil, err
		}
		content = append(append(content, entry.K.UserKey...), value...)
	}
	return content, entries.Error()
}

func TestFilesWithReadsTables(t *testing.T) {
	const secret = "xylophone9ann"
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	write(t, l, post(secret))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files := filesWith(t, dir, secret)
	if !slices.ContainsFunc(files, isTable) {
		t.Errorf("the item is in %v; want a table", files)
	}
}

func TestErasureRunsInTime(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir, EraseWithin: 2 * time.Millisecond})
	id := write(t, l, post("a"))[0].ID
	write(t, l, library.Mutation{Delete: true, ID: id})
	awaitFlush(t, l, 1)
}

// awaitFlush waits until the database has been flushed n times.
func awaitFlush(t *testing.T, l *opened, n int64) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for l.db.pebble.Metrics().Flush.Count < n {
		select {
		case <-deadline:
			t.Fatalf("%d flushes, want %d", l.db.pebble.Metrics().Flush.Count, n)
		case <-tick.C:
		}
	}
}

func TestUsedUpIDs(t *testing.T) {
	l := mustOpen(t, Options{Dir: t.TempDir()})
	last := post("last")
	last.Put.ID = item.MaxID
	write(t, l, last)
	outcomes, err := l.Write(t.Context(), shop, []library.Mutation{post("one more")})
	if err != nil || outcomes[0].Err == nil {
		t.Errorf("an item past the last id: %+v, %v", outcomes, err)
	}
}
