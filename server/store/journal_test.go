package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
)

// changed reads changes of shop, and fails the test if that returns an error.
func changed(t testing.TB, l *opened, after library.Position, limit int) *library.ItemChanges {
	t.Helper()
	out, err := l.Changes(t.Context(), library.ChangesRead{Property: shop, After: after, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Next) > 64 {
		t.Errorf("the position %q is too long", out.Next)
	}
	return out
}

func now(t testing.TB, l *opened) library.Position {
	t.Helper()
	return changed(t, l, "", 1).Next
}

// follow adds the ids of all changes after a position to seen, and returns the position of now.
func follow(t testing.TB, l *opened, after library.Position, seen map[item.ID]bool) library.Position {
	t.Helper()
	for {
		out := changed(t, l, after, 2)
		if out.Lost {
			t.Fatalf("the changes after %s are lost", after)
		}
		for _, c := range out.Items {
			seen[c.ID] = true
		}
		if after = out.Next; !out.More {
			return after
		}
	}
}

func expectLost(t testing.TB, what string, l *opened, after library.Position) {
	t.Helper()
	if out := changed(t, l, after, 10); !out.Lost || len(out.Items) > 0 || out.More || out.Next != now(t, l) {
		t.Errorf("%s: %+v, want a loss and the position of now", what, out)
	}
}

func expectChanged(t testing.TB, what string, l *opened, after library.Position, want ...item.ID) {
	t.Helper()
	out := changed(t, l, after, 100)
	var got []item.ID
	for _, c := range out.Items {
		got = append(got, c.ID)
	}
	if out.Lost || out.More || !slices.Equal(got, want) || out.Next != now(t, l) {
		t.Errorf("%s: %+v, want the items %v", what, out, want)
	}
}

func TestPositions(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	apply(t, l, wallProperty())
	restart := func() {
		t.Helper()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = mustStart(t, Options{Dir: dir})
	}
	first := now(t, l)
	write(t, l, post("one"), post("two"))
	middle := changed(t, l, first, 1).Next
	restart()
	write(t, l, post("three"))
	expectChanged(t, "after a restart", l, first, 1, 2, 3)
	expectChanged(t, "after a restart, within a batch", l, middle, 2, 3)
	journal, _, _ := strings.Cut(string(first), "-")
	for name, text := range map[string]string{
		"no position": "x", "no numbers": journal + "-x-y", "no batch": journal + "--0", "three numbers": journal + "-1-0-0",
		"of another journal": "0123456789abcdef-1-0", "of the future": journal + "-999-0", "negative": journal + "-1--1",
		"after the end of an entry": strings.TrimSuffix(string(first), "0") + "3", "after the last entry": strings.TrimSuffix(string(now(t, l)), "0") + "1",
	} {
		expectLost(t, name, l, library.Position(text))
	}
	backup := t.TempDir()
	if _, err := l.Checkpoint(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(backup, RestoredName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expectLost(t, "in a restored backup", mustStart(t, Options{Dir: backup}), first)

	before := now(t, l)
	if _, err := l.Remove(t.Context(), []library.Owner{shopProperty().Owner}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Changes(t.Context(), library.ChangesRead{Property: shop, After: before, Limit: 1}); !errors.Is(err, library.ErrNotFound) {
		t.Errorf("a property that is not served: %v", err)
	}
	apply(t, l, shopProperty())
	write(t, l, post("four"))
	expectChanged(t, "of a property that was not served for a while", l, before, 4)
	if _, err := l.Remove(t.Context(), []library.Owner{shopProperty().Owner}); err != nil {
		t.Fatal(err)
	}
	if err := l.Purge(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	apply(t, l, shopProperty())
	created := now(t, l)
	write(t, l, post("five"))
	expectLost(t, "after a purge", l, before)
	restart()
	expectLost(t, "after a purge and a restart", l, before)
	expectChanged(t, "since the purge", l, created, 1)
}

// TestOldEntriesAreDeleted checks the limits of a journal, also in a property that is no longer written.
func TestOldEntriesAreDeleted(t *testing.T) {
	dir, clock := t.TempDir(), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	o := Options{Dir: dir, Clock: func() time.Time { return clock }, JournalAge: time.Hour, JournalChanges: 5}
	l := mustOpen(t, o)
	apply(t, l, wallProperty())
	var at []library.Position // before each write
	add := func(after time.Duration, n int) {
		t.Helper()
		clock = clock.Add(after)
		at = append(at, now(t, l))
		muts := make([]library.Mutation, n)
		for i := range muts {
			muts[i] = post("new")
		}
		write(t, l, muts...)
	}
	add(2*time.Minute, 2)
	add(2*time.Minute, 3)
	add(2*time.Minute, 1)
	expectChanged(t, "six changes", l, at[0], 1, 2, 3, 4, 5, 6)
	add(time.Second, 1)
	expectChanged(t, "less than a minute after the last trim", l, at[0], 1, 2, 3, 4, 5, 6, 7)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = mustStart(t, o)
	add(time.Second, 1)
	expectLost(t, "more than five newer changes", l, at[0])
	expectChanged(t, "five newer changes", l, at[1], 3, 4, 5, 6, 7, 8)
	clock = clock.Add(time.Hour + time.Minute)
	last := now(t, l)
	if _, err := l.Write(t.Context(), wall, []library.Mutation{post("wall")}); err != nil {
		t.Fatal(err)
	}
	expectLost(t, "an hour later", l, at[len(at)-1])
	expectChanged(t, "nothing changed meanwhile", l, last)
	end, err := l.End(t.Context(), shop)
	lost, _ := parsePosition(at[len(at)-1])
	known, _ := parsePosition(last)
	if err != nil || end.First <= lost.batch || end.First > known.batch || end.Last < known.batch {
		t.Errorf("%v: the end %+v, without an entry, begins after %+v and contains %+v", err, end, lost, known)
	}
	entries := 0
	err = scan(l.db.pebble, propertyKey(shop, underJournal), propertyKey(shop, underFloor), func([]byte, []byte) ([]byte, error) {
		entries++
		return nil, nil
	})
	if err != nil || entries > 0 {
		t.Errorf("%d entries are left: %v", entries, err)
	}
	clock = clock.Add(-24 * time.Hour)
	add(0, 1)
	expectChanged(t, "after the clock went back", l, last, 9)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = mustStart(t, o)
	expectChanged(t, "after a restart", l, last, 9)
}

// TestOneTrimIsLimited checks that a write does not wait for the deletion of a long journal.
func TestOneTrimIsLimited(t *testing.T) {
	clock := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	o := Options{Dir: t.TempDir(), Clock: func() time.Time { return clock }}
	l := mustOpen(t, o)
	b := l.db.pebble.NewBatch()
	st := &mutations.Stage{Property: shop, Now: clock, Items: []mutations.Item{{ID: 1, Extent: mutations.AnyMember}}}
	const batches = trimMost + 10
	for i := range uint64(batches) {
		if err := putEntry(b, st, i+1, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(setNumber(b, []byte(keyVersion), batches), b.Commit(pebble.Sync)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = mustStart(t, o)
	start := position{journal: l.served.journal}.text()
	out := changed(t, l, start, 10)
	if len(out.Items) != 1 || !out.More || out.Lost || out.Next != (position{l.served.journal, readMost, 0}).text() {
		t.Errorf("a long journal: %+v, want the item and that more changes follow", out)
	}
	expectChanged(t, "the rest", l, out.Next, 1)
	clock = clock.Add(8 * 24 * time.Hour)
	write(t, l, put(2, "new", ""))
	expectLost(t, "deleted entries", l, start)
	expectChanged(t, "entries that are not deleted yet", l, out.Next, 1, 2)
	clock = clock.Add(time.Minute)
	write(t, l, put(3, "new", ""))
	expectLost(t, "a minute later", l, out.Next)
}

func TestChangesWithinABatch(t *testing.T) {
	l := mustOpen(t, Options{Dir: t.TempDir()})
	first := now(t, l)
	write(t, l, put(9, "nine", ""), put(3, "three", ""), put(item.MaxID, "last", ""), put(5, "five", ""), library.Mutation{Delete: true, ID: 3})
	submission, err := item.ParsePatch([]byte(`{"submission":{"email":"ann@mail.example"}}`))
	if err != nil {
		t.Fatal(err)
	}
	second := now(t, l)
	write(t, l, library.Mutation{Patch: submission, ID: item.MaxID}, library.Mutation{Patch: submission, ID: 5}, put(9, "other", ""))
	write(t, l, library.Mutation{Patch: submission, ID: 5}, library.Mutation{Patch: submission, ID: 9}, put(7, "seven", ""))

	all := []library.ChangedItem{{ID: 9}, {ID: item.MaxID}, {ID: 5}, {ID: 7}}
	if diff := cmp.Diff(all, changed(t, l, first, 10).Items); diff != "" {
		t.Errorf("all changes (-want +got):\n%s", diff)
	}
	later := []library.ChangedItem{{ID: item.MaxID, Private: true}, {ID: 5, Private: true}, {ID: 9}, {ID: 7}}
	if diff := cmp.Diff(later, changed(t, l, second, 10).Items); diff != "" {
		t.Errorf("the changes after the first batch (-want +got):\n%s", diff)
	}
	var single []library.ChangedItem
	next, more := first, true
	for more {
		out := changed(t, l, next, 1)
		single = append(single, out.Items...)
		next, more = out.Next, out.More
	}
	want := append(slices.Clone(all[:3]), later[0], later[1], later[2], all[3])
	if diff := cmp.Diff(want, single); diff != "" {
		t.Errorf("one item at a time (-want +got):\n%s", diff)
	}
	if _, err := l.Changes(t.Context(), library.ChangesRead{Property: shop}); err == nil {
		t.Error("no limit was accepted")
	}
}

// awaitWaiter returns when a call of Changes waits for changes of shop.
func awaitWaiter(l *opened) {
	for {
		l.waiters.mu.Lock()
		waits := l.waiters.changed[shop] != nil
		l.waiters.mu.Unlock()
		if waits {
			return
		}
		runtime.Gosched()
	}
}

func TestWaitingForChanges(t *testing.T) {
	stopped := errors.New("stopped")
	for name, c := range map[string]struct {
		do   func(t *testing.T, l *opened, stop context.CancelCauseFunc)
		want error
	}{
		"a write": {func(t *testing.T, l *opened, _ context.CancelCauseFunc) { t.Helper(); write(t, l, put(7, "new", "")) }, nil},
		"the store closes": {func(t *testing.T, l *opened, _ context.CancelCauseFunc) {
			t.Helper()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}, library.ErrClosed},
		"the caller stops": {func(_ *testing.T, _ *opened, stop context.CancelCauseFunc) { stop(stopped) }, stopped},
		"the property is removed": {func(t *testing.T, l *opened, _ context.CancelCauseFunc) {
			t.Helper()
			if _, err := l.Remove(t.Context(), []library.Owner{shopProperty().Owner}); err != nil {
				t.Fatal(err)
			}
		}, library.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			l := mustOpen(t, Options{Dir: t.TempDir()})
			apply(t, l, wallProperty())
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			type answer struct {
				out *library.ItemChanges
				err error
			}
			answers := make(chan answer)
			r := library.ChangesRead{Property: shop, After: now(t, l), Limit: 1, Wait: time.Hour}
			go func() {
				out, err := l.Changes(ctx, r)
				answers <- answer{out, err}
			}()
			awaitWaiter(l)
			if _, err := l.Write(ctx, wall, []library.Mutation{post("wall")}); err != nil {
				t.Fatal(err)
			}
			c.do(t, l, stop)
			got := <-answers
			if !errors.Is(got.err, c.want) {
				t.Fatalf("error %v, want %v", got.err, c.want)
			}
			if c.want == nil && (len(got.out.Items) != 1 || got.out.Items[0].ID != 7) {
				t.Errorf("%+v, want item 7", got.out)
			}
		})
	}
	l := mustOpen(t, Options{Dir: t.TempDir()})
	out, err := l.Changes(t.Context(), library.ChangesRead{Property: shop, After: now(t, l), Limit: 1, Wait: time.Millisecond})
	if err != nil || len(out.Items) > 0 || out.Next != now(t, l) {
		t.Errorf("the wait is over: %+v, %v", out, err)
	}
}

// TestOtherChangesWakeNoCall checks that a call of Changes waits on while other properties change.
func TestOtherChangesWakeNoCall(t *testing.T) {
	l := mustOpen(t, Options{Dir: t.TempDir()})
	apply(t, l, wallProperty())
	ofShop, ofWall := l.waiters.wait(shop), l.waiters.wait(wall)
	if _, err := l.Write(t.Context(), wall, []library.Mutation{post("wall")}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ofShop:
		t.Error("a write to another property woke a call")
	default:
	}
	<-ofWall
	write(t, l, put(1, "one", ""))
	<-ofShop
	for _, p := range []library.PropertyID{"no/property", "other/property"} {
		if _, err := l.Changes(t.Context(), library.ChangesRead{Property: p, Limit: 1, Wait: time.Hour}); !errors.Is(err, library.ErrNotFound) {
			t.Errorf("an unknown property: %v", err)
		}
	}
	if n := len(l.waiters.changed); n != 0 {
		t.Errorf("%d channels are left", n)
	}
}
