package store

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store/storetest"
	"github.com/vitrine-dev/vitrine/server/store/synced"
)

// TestDamagedStore changes each file of a store in one place, or cuts it there. Open must either serve every acknowledged item, or fail and
// leave every file as it was.
func TestDamagedStore(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, dir string, l *opened){
		"closed": func(t *testing.T, _ string, l *opened) {
			t.Helper()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		},
		"killed": func(*testing.T, string, *opened) {},
		"killed after a flush": func(t *testing.T, _ string, l *opened) {
			t.Helper()
			if err := l.db.pebble.Flush(); err != nil {
				t.Fatal(err)
			}
			write(t, l, post("late"))
		},
		"closed and killed": func(t *testing.T, dir string, l *opened) {
			t.Helper()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l = mustOpen(t, Options{Dir: dir})
			write(t, l, post("late"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := mustOpen(t, Options{Dir: dir})
			for range 12 {
				write(t, l, post("sunset"), post("beach"))
			}
			write(t, l, library.Mutation{Delete: true, ID: 3})
			end(t, dir, l)
			original := copyOf(t, dir)
			want, err := readItems(mustOpen(t, Options{Dir: copyOf(t, dir)}))
			if err != nil || len(want) < 23 {
				t.Fatalf("%d items, error %v", len(want), err)
			}
			refused, places := 0, storetest.Sample(t, original, 100)
			for _, d := range places {
				if !tryDamage(t, original, d, want) {
					refused++
				}
			}
			t.Logf("%d places, %d opened with everything, %d refused", len(places), len(places)-refused, refused)
		})
	}
}

// tryDamage opens a copy of a store with one damaged place. It reports whether the store was opened.
func tryDamage(t *testing.T, original string, d storetest.Damage, want map[item.ID]string) bool {
	t.Helper()
	dir, before := d.CopyOf(t, original), d.CopyOf(t, original)
	defer os.RemoveAll(dir)
	defer os.RemoveAll(before)
	l, err := open(Options{Dir: dir})
	if err != nil {
		if changes := storetest.Changes(t, before, dir); len(changes) > 0 {
			t.Errorf("%v: the refused store has changed: %v (%v)", d, changes, err)
		}
		return false
	}
	defer l.Close()
	got, err := readItems(l)
	switch {
	case Damaged(err):
		return false // the server reports the damaged table with each request, and does not change it
	case err != nil:
		t.Errorf("%v: %v", d, err)
	case !maps.Equal(got, want):
		t.Errorf("%v: opened with %d items, want %d", d, len(got), len(want))
	}
	out, err := l.Changes(t.Context(), library.ChangesRead{Property: shop, After: position{journal: l.served.journal}.text(), Limit: 100})
	switch {
	case Damaged(err):
		return false
	case err != nil:
		t.Errorf("%v: %v", d, err)
	case len(out.Items) != len(want)+1: // one item was deleted
		t.Errorf("%v: opened with the changes of %d items, want %d", d, len(out.Items), len(want)+1)
	}
	return true
}

// readItems reads every item of the shop.
func readItems(l *opened) (map[item.ID]string, error) {
	ids := make([]item.ID, 100)
	for i := range ids {
		ids[i] = item.ID(i + 1)
	}
	items, err := l.ItemsByID(shop, ids)
	if err != nil {
		return nil, err
	}
	texts := map[item.ID]string{}
	for _, it := range items {
		if it != nil {
			texts[it.ID] = it.Content.Text
		}
	}
	return texts, nil
}

// damageLast damages the newest file of the database whose name matches a pattern, at an offset from its end.
func damageLast(t *testing.T, dir, pattern string, at int) (name string, damaged []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, databaseName, pattern))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	name = slices.Max(files)
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-at] ^= 1
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name, content
}

// TestAcceptLoss opens a store with a damaged log. Open must name the loss, and then accept exactly this loss.
func TestAcceptLoss(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	for i := range 20 {
		write(t, l, post(fmt.Sprintf("text %d", i)))
	}
	last := now(t, l)
	dir = copyOf(t, dir)
	log, damaged := damageLast(t, dir, "*.log", 2000)
	_, err := open(Options{Dir: dir})
	damage, ok := errors.AsType[*synced.DamageError](err)
	if !ok || damage.Batches < 2 || damage.Offset+damage.Bytes != int64(len(damaged)) {
		t.Fatalf("error %v (%+v), want the damage of the log", err, damage)
	}
	if _, err := open(Options{Dir: dir, AcceptLoss: damage.File + "@1"}); err == nil {
		t.Fatal("another loss was accepted")
	}
	l = mustOpen(t, Options{Dir: dir, AcceptLoss: damage.Loss()})
	if s := l.State(t.Context()); s.Loss != damage.Error() || s.Items == 0 || s.Items >= 20 {
		t.Errorf("state %+v, want the loss and some items", s)
	}
	if kept, err := os.ReadFile(log + ".damaged"); err != nil || !slices.Equal(kept, damaged) {
		t.Errorf("the damaged file was not kept: %v", err)
	}
	for range 20 { // until the store has as many batches as before the loss
		write(t, l, post("new"))
	}
	expectLost(t, "a position from before the loss", l, last)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if s := mustOpen(t, Options{Dir: dir}).State(t.Context()); s.Loss != "" {
		t.Errorf("after a restart, the state still names the loss: %s", s.Loss)
	}
}

// TestRolledBack replaces the files of a store with an older copy, but not the ledger.
func TestRolledBack(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	write(t, l, post("one"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	old := copyOf(t, dir)
	l = mustOpen(t, Options{Dir: dir})
	write(t, l, post("two"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ledger, err := os.ReadFile(filepath.Join(dir, databaseName, synced.Name))
	if err != nil {
		t.Fatal(err)
	}
	withLedger := func() error {
		copied := copyOf(t, old)
		if err := os.WriteFile(filepath.Join(copied, databaseName, synced.Name), ledger, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := open(Options{Dir: copied})
		return err
	}
	if _, ok := errors.AsType[*synced.DamageError](withLedger()); !ok {
		t.Error("opened although the log that the ledger names is missing")
	}
	for range 3 { // the numbers of the files become higher than those in the ledger
		if err := mustOpen(t, Options{Dir: old}).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if damage, ok := errors.AsType[*synced.DamageError](withLedger()); !ok || damage.File != synced.Name || damage.Loss() == "" {
		t.Errorf("error %v, want a difference between the ledger and the database that can be accepted", damage)
	}
}

// TestMissingLedger removes the ledger of a database, together with a part of its log.
func TestMissingLedger(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	for i := range 5 {
		write(t, l, post(fmt.Sprintf("text %d", i)))
	}
	dir = copyOf(t, dir)
	logs, err := filepath.Glob(filepath.Join(dir, databaseName, "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	info, err := os.Stat(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(logs[0], info.Size()*2/3); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, databaseName, synced.Name)); err != nil {
		t.Fatal(err)
	}
	_, err = open(Options{Dir: dir})
	damage, ok := errors.AsType[*synced.DamageError](err)
	if !ok || damage.File != synced.Name || damage.Loss() == "" || damage.Offset == 0 { // a later loss must have another name
		t.Fatalf("error %v, want that the ledger is missing", err)
	}
	if _, err := os.Stat(filepath.Join(dir, databaseName, synced.Name)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the refusal created a ledger")
	}
	for range 2 { // the second start needs no flag
		l = mustOpen(t, Options{Dir: dir, AcceptLoss: damage.Loss()})
		if s := l.State(t.Context()); s.Items == 0 || s.Items >= 5 {
			t.Errorf("state %+v, want some items", s)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		damage = &synced.DamageError{}
	}
}

// TestSeal damages a database that Seal has sealed, in the last record of its MANIFEST.
func TestSeal(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	write(t, l, post("one"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, databaseName, synced.Name)); err != nil {
		t.Fatal(err)
	}
	if err := synced.Seal(vfs.Default, filepath.Join(dir, databaseName)); err != nil {
		t.Fatal(err)
	}
	damageLast(t, dir, "MANIFEST-*", 1)
	if _, err := open(Options{Dir: dir}); err == nil {
		t.Error("opened a damaged MANIFEST")
	}
}

// stuckTables is a file system on which tables cannot be created until release is closed.
type stuckTables struct {
	vfs.FS
	release chan struct{}
}

func (s stuckTables) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if isTable(name) {
		<-s.release
	}
	return s.FS.Create(name, category)
}

// TestDamagedOlderLog damages or removes the older one of two logs that a store still needs.
func TestDamagedOlderLog(t *testing.T) {
	dir := t.TempDir()
	disk := stuckTables{vfs.Default, make(chan struct{})}
	l := mustOpen(t, Options{Dir: dir, FS: disk})
	write(t, l, post("one"))
	if _, err := l.db.pebble.AsyncFlush(); err != nil { // begins another log
		t.Fatal(err)
	}
	write(t, l, post("two"))
	original := copyOf(t, dir)
	close(disk.release)
	logs, err := filepath.Glob(filepath.Join(original, databaseName, "*.log"))
	if err != nil || len(logs) != 2 {
		t.Fatal(logs, err)
	}
	if s := mustOpen(t, Options{Dir: copyOf(t, original)}).State(t.Context()); s.Items != 2 {
		t.Fatalf("%d items, want 2", s.Items)
	}
	older, err := filepath.Rel(original, slices.Min(logs))
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(string) error{
		"removed": os.Remove,
		"empty":   func(name string) error { return os.Truncate(name, 0) },
		"cut":     func(name string) error { return os.Truncate(name, 100) },
	} {
		copied := copyOf(t, original)
		if err := damage(filepath.Join(copied, older)); err != nil {
			t.Fatal(err)
		}
		_, err := open(Options{Dir: copied})
		if found, ok := errors.AsType[*synced.DamageError](err); !ok || found.Loss() != "" {
			t.Errorf("%s: error %v, want a *synced.DamageError that cannot be accepted", name, err)
		}
	}
}

// TestOlderManifest makes the marker file name the previous MANIFEST, which is still there.
func TestOlderManifest(t *testing.T) {
	dir := t.TempDir()
	if err := mustOpen(t, Options{Dir: dir}).Close(); err != nil {
		t.Fatal(err)
	}
	l := mustOpen(t, Options{Dir: dir})
	write(t, l, post("one"))
	if err := l.db.pebble.Flush(); err != nil {
		t.Fatal(err)
	}
	dir = copyOf(t, dir)
	manifests, err := filepath.Glob(filepath.Join(dir, databaseName, "MANIFEST-*"))
	if err != nil || len(manifests) != 2 {
		t.Fatal(manifests, err)
	}
	markers, err := filepath.Glob(filepath.Join(dir, databaseName, markerPrefix+"*"))
	if err != nil || len(markers) != 1 {
		t.Fatal(markers, err)
	}
	older := strings.TrimSuffix(markers[0], filepath.Base(slices.Max(manifests))) + filepath.Base(slices.Min(manifests))
	if err := os.Rename(markers[0], older); err != nil {
		t.Fatal(err)
	}
	if _, err := open(Options{Dir: dir}); err == nil {
		t.Error("opened with an older MANIFEST")
	} else if _, ok := errors.AsType[*synced.DamageError](err); !ok {
		t.Errorf("error %v, want a *synced.DamageError", err)
	}
}

// TestAcceptDamagedLedger damages only the ledger. The name of the loss must depend on the damage.
func TestAcceptDamagedLedger(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	write(t, l, post("one"))
	dir = copyOf(t, dir)
	ledger := filepath.Join(dir, databaseName, synced.Name)
	if err := os.WriteFile(ledger, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := open(Options{Dir: dir})
	damage, ok := errors.AsType[*synced.DamageError](err)
	if !ok || damage.Loss() == "" || damage.Loss() == synced.Name+"@0" {
		t.Fatalf("error %v, want a *synced.DamageError with a name", err)
	}
	l = mustOpen(t, Options{Dir: dir, AcceptLoss: damage.Loss()})
	if s := l.State(t.Context()); s.Items != 1 || s.Loss != damage.Error() {
		t.Errorf("state %+v, want the item and the loss", s)
	}
	if _, err := os.Stat(ledger + ".damaged"); err != nil {
		t.Error(err)
	}
}

// TestPauseOfAStoreThatFailsAgain makes each reopened database fail at once. The pauses between the attempts must grow.
func TestPauseOfAStoreThatFailsAgain(t *testing.T) {
	l := mustOpen(t, Options{Dir: t.TempDir(), RetryAfter: time.Millisecond})
	for range 5 {
		failed := l.db
		failed.fail(errors.New("a table is damaged"))
		for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
			l.mu.RLock()
			db := l.db
			l.mu.RUnlock()
			if db != failed {
				break
			}
		}
	}
	if err := l.Hold(func() error {
		if l.pause < 16*time.Millisecond {
			t.Errorf("the pause is %s after 5 failures", l.pause)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
