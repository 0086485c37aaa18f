package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/backup"
	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/exit"
)

// Ids of stores.
var storeA, storeB, storeC = strings.Repeat("a", 32), strings.Repeat("b", 32), strings.Repeat("c", 32)

// backupOf returns a backup with no files.
func backupOf(t testing.TB, census backup.Census) (backup.Header, []byte) {
	t.Helper()
	var b bytes.Buffer
	h := backup.Header{Vitrine: "test", Census: census}
	if err := backup.Write(t.Context(), &b, t.TempDir(), h); err != nil {
		t.Fatal(err)
	}
	return h, b.Bytes()
}

// TestSchedule checks when scheduled backups are made, and which backups are kept, with a directory as the place.
func TestSchedule(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vitrine")
	s := testSchedule(t, directory(dir))
	// A step removes the incomplete file that a killed command has left.
	left := filepath.Join(dir, output.IncompletePrefix+"1")
	if err := errors.Join(os.WriteFile(left, nil, 0o600), os.Chtimes(left, s.now(), s.now().Add(-2*time.Hour))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 4 {
		t.Errorf("%v, %v, want the owner, a backup without an id, notes.txt and one backup", entries, err)
	}
	s.place = directory(filepath.Join(dir, "no", "where"))
	if _, err := s.step(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no volume: %v", err)
	}
}

// testSchedule checks a schedule in an empty place, and leaves there its owner, a backup, a backup without an id, and the file notes.txt.
func testSchedule(t *testing.T, to place) *schedule {
	t.Helper()
	at := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	broken := errors.New("no server runs")
	var failure error
	var reported admin.Backups
	census := backup.Census{Store: storeA, Batch: 1}
	s := &schedule{
		place: to, every: 24 * time.Hour, keep: 2, now: func() time.Time { return at }, log: io.Discard,
		census: func(context.Context) (backup.Census, error) { return census, nil },
		copy: func(name, store string) (backup.Header, error) {
			if failure != nil {
				return backup.Header{}, failure
			}
			if store != storeA {
				t.Errorf("a backup of the store %s", store)
			}
			h, text := backupOf(t, census)
			return h, to.replace(t.Context(), name, text)
		},
		report: func(b admin.Backups) { reported = b },
	}
	files := func(about string, want ...string) {
		t.Helper()
		got, err := to.list(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = slices.DeleteFunc(got, func(name string) bool { return name == ownerName })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", about, diff)
		}
	}
	name := func(at string) string { return "vitrine-" + storeA + "-" + at + ".tar" }
	for _, step := range []struct {
		about   string
		after   time.Duration
		failure error
		wait    time.Duration
		copies  []string
	}{
		{"the first one at once", 0, nil, 24 * time.Hour, []string{name("20261201T030000Z")}},
		{"none after a restart", time.Hour, nil, 23 * time.Hour, []string{name("20261201T030000Z")}},
		{"none if it fails", 23 * time.Hour, broken, 0, []string{name("20261201T030000Z")}},
		{"the second one later", time.Minute, nil, 24 * time.Hour, []string{name("20261201T030000Z"), name("20261202T030100Z")}},
		{"two stay", 25 * time.Hour, nil, 24 * time.Hour, []string{name("20261202T030100Z"), name("20261203T040100Z")}},
		{"one from the future does not count", -time.Hour, nil, 24 * time.Hour, []string{name("20261202T030100Z"), name("20261203T030100Z")}},
	} {
		at, failure = at.Add(step.after), step.failure
		wait, err := s.step(t.Context())
		if wait != step.wait || !errors.Is(err, step.failure) {
			t.Errorf("%s: wait %s, want %s (%v)", step.about, wait, step.wait, err)
		}
		files(step.about, step.copies...)
	}
	if want := time.Date(2026, 12, 3, 3, 1, 0, 0, time.UTC); !s.state.Newest.Equal(want) || s.state.Store != storeA {
		t.Errorf("the newest backup is of %s from %s, want %s", s.state.Store, s.state.Newest, want)
	}
	if want := time.Date(2026, 12, 2, 3, 1, 0, 0, time.UTC); !reported.Newest.Equal(want) {
		t.Errorf("before a backup, the newest one is from %s, want %s", reported.Newest, want)
	}
	// Other files stay, and so do backups without an id. The step removes old backups before it makes a new one.
	const older = "vitrine-20260101T000000Z.tar"
	for _, other := range []string{"notes.txt", older} {
		if err := to.replace(t.Context(), other, []byte("other")); err != nil {
			t.Fatal(err)
		}
	}
	at, s.keep, failure = at.Add(48*time.Hour), 1, broken
	if _, err := s.step(t.Context()); !errors.Is(err, broken) {
		t.Error(err)
	}
	files("another file", "notes.txt", older, name("20261203T030100Z"))
	failure = nil
	return s
}

// TestScheduledBackup makes a scheduled backup of a running server, and restores it before a start, as the chart does.
func TestScheduledBackup(t *testing.T) {
	s := start(t, newStore(t), "--expect-backups", "24h")
	s.environment(t)
	metrics := func(want ...string) func() bool {
		return func() bool {
			_, page := get(t, "http://"+s.addresses["metrics"]+"/metrics")
			return !slices.ContainsFunc(want, func(line string) bool { return !strings.Contains(page, "\n"+line) })
		}
	}
	const none, failures = "vitrine_backup_last_success_timestamp_seconds 0\n", "vitrine_backup_failures_total "
	if !metrics("vitrine_backup_interval_seconds 86400\n", none, failures+"0\n")() {
		t.Error("without a report, the metrics are not those of an expected backup")
	}
	vitrine(t.Context(), itemLines(1, 20), "import", "-").want(t, 0, "20 added")
	want := vitrine(t.Context(), "", "export").stdout
	schedule := func(to string) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan result, 1)
		go func() { ended <- vitrine(ctx, "", "backup", "--data-dir", s.dir, "--every", "24h", "--keep", "2", to) }()
		return func() { cancel(); (<-ended).want(t, 0) }
	}
	to := filepath.Join(t.TempDir(), "vitrine")
	stop := schedule(filepath.Join(to, "missing", "volume"))
	eventually(t, "the failure is in the metrics", metrics(none, failures+"1\n"))
	stop()
	stop = schedule(to)
	// The value of the metric is a time in seconds since 1970, such as 1.8e+09, and therefore begins with "1.".
	eventually(t, "the backup is in the metrics", metrics("vitrine_backup_last_success_timestamp_seconds 1.", failures+"0\n"))
	stop()
	copies, err := filepath.Glob(filepath.Join(to, "vitrine-*Z.tar"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("backups %v, %v", copies, err)
	}
	s.signal(syscall.SIGTERM)

	data := filepath.Join(t.TempDir(), "data")
	vitrine(t.Context(), "", "restore", "--data-dir", data, "--if-empty", copies[0]).want(t, 0, "restored to "+data)
	vitrine(t.Context(), "", "restore", "--data-dir", data, "--if-empty", copies[0]).want(t, 0, "already contains a store")
	restored := start(t, data)
	restored.environment(t)
	if got := vitrine(t.Context(), "", "export").stdout; got != want {
		t.Errorf("restored:\n%s", got)
	}
	restored.signal(syscall.SIGTERM)

	for _, args := range [][]string{
		{"--every", "30s", to}, {"--every", "1h", "-"}, {"--every", "1h", "--keep", "0", to}, {"--keep", "2", to},
		{"--every", "1h", "--even-damaged", to},
	} {
		vitrine(t.Context(), "", append([]string{"backup", "--data-dir", s.dir}, args...)...).want(t, exit.Usage)
	}
}

// TestTwoServersInOneFolder lets two servers, and a server with a restored store, make scheduled backups in one folder.
func TestTwoServersInOneFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "vitrine")
	serve := func(dir string, items int) *server {
		s := start(t, dir, "--expect-backups", "24h")
		s.environment(t)
		if items > 0 {
			vitrine(t.Context(), itemLines(1, items), "import", "-").want(t, 0, "added")
		}
		return s
	}
	backups := func() (found []scheduled) {
		names, err := directory(folder).list(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return copies(names)
	}
	// schedule runs a schedule until the metrics of the server contain all lines of want, and returns the output of the schedule.
	schedule := func(s *server, args []string, want ...string) string {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan result, 1)
		go func() {
			ended <- vitrine(ctx, "", append([]string{"backup", "--data-dir", s.dir, "--every", "24h", "--keep", "1", folder}, args...)...)
		}()
		eventually(t, "the schedule has reported", func() bool {
			_, page := get(t, "http://"+s.addresses["metrics"]+"/metrics")
			return !slices.ContainsFunc(want, func(line string) bool { return !strings.Contains(page, "\n"+line) })
		})
		cancel()
		r := <-ended
		r.want(t, 0)
		return r.stderr
	}
	const none, some = "vitrine_backup_last_success_timestamp_seconds 0\n", "vitrine_backup_last_success_timestamp_seconds 1."
	const fails, works = "vitrine_backup_failures_total 1\n", "vitrine_backup_failures_total 0\n"

	a, b := serve(newStore(t), 20), serve(newStore(t), 30)
	schedule(a, nil, some, works)
	if len(backups()) != 1 {
		t.Fatalf("the folder contains %v", backups())
	}
	of := backups()[0]
	if said := schedule(b, nil, none, fails); !strings.Contains(said, "belongs to the store "+of.store) || strings.Count(said, of.store) != 2 {
		t.Errorf("the other server: %s", said)
	}
	if got := backups(); !slices.Equal(got, []scheduled{of}) {
		t.Errorf("the folder contains %v", got)
	}
	b.signal(syscall.SIGTERM)

	// A restored store is another store, even beside the original one.
	path := filepath.Join(folder, of.name())
	c := filepath.Join(t.TempDir(), "data")
	vitrine(t.Context(), "", "restore", "--data-dir", c, "--from-store", storeB, path).want(t, exit.Failed, "a backup of the store "+of.store+" (Vitrine ", "20 items", "--from-store="+of.store)
	vitrine(t.Context(), "", "restore", "--data-dir", c, "--from-store", "b", path).want(t, exit.Usage, "32 hexadecimal digits")
	renamed := filepath.Join(t.TempDir(), scheduled{storeB, of.at}.name())
	if err := os.Link(path, renamed); err != nil {
		t.Fatal(err)
	}
	vitrine(t.Context(), "", "restore", "--data-dir", c, renamed).want(t, exit.Failed, "not of the store "+storeB)
	vitrine(t.Context(), "", "restore", "--data-dir", c, path).want(t, 0, "a backup of the store "+of.store, "20 items", "an id of its own")
	restored := serve(c, 0)
	if said := schedule(restored, nil, none, fails); !strings.Contains(said, "--take-over="+of.store) {
		t.Errorf("the restored store beside the original: %s", said)
	}
	schedule(a, nil, some, works)
	schedule(restored, []string{"--take-over", of.store}, some, works)
	now := backups()
	if len(now) != 2 || !slices.Contains(now, of) || now[0].store == now[1].store {
		t.Errorf("after the folder was taken over, it contains %v", now)
	}
	// The time of the last success stays that of the server's own backup.
	if said := schedule(a, nil, some, fails); !strings.Contains(said, "belongs to the store") {
		t.Errorf("the store whose folder was taken over: %s", said)
	}
	for _, args := range [][]string{{"--take-over", storeA, folder}, {"--take-over", "x", "--every", "1h", folder}} {
		vitrine(t.Context(), "", append([]string{"backup", "--data-dir", a.dir}, args...)...).want(t, exit.Usage, "take-over")
	}
}

// TestScheduleOfAStoreThatLostItems starts a server on an older state of its store, as after damage or a rollback of the volume.
func TestScheduleOfAStoreThatLostItems(t *testing.T) {
	dir, folder, older := newStore(t), filepath.Join(t.TempDir(), "vitrine"), filepath.Join(t.TempDir(), "older")
	if err := os.CopyFS(older, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	s := start(t, dir)
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 20), "import", "-").want(t, 0, "20 added")
	run := func(s *server, until func() bool) string {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan result, 1)
		go func() {
			ended <- vitrine(ctx, "", "backup", "--data-dir", s.dir, "--every", "1m", "--keep", "1", folder)
		}()
		eventually(t, "the schedule has made a step", until)
		cancel()
		return (<-ended).stderr
	}
	files := func() []string {
		names, _ := directory(folder).list(t.Context())
		return slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, copySuffix) })
	}
	run(s, func() bool { return len(files()) == 1 })
	before := files()
	s.signal(syscall.SIGTERM)

	s = start(t, older)
	said := run(s, func() bool {
		_, page := get(t, "http://"+s.addresses["metrics"]+"/metrics")
		return strings.Contains(page, "\nvitrine_backup_failures_total 1\n")
	})
	for _, want := range []string{before[0], "it has 0 items", "the backup has 20 items", "Restore this backup"} {
		if !strings.Contains(said, want) {
			t.Errorf("the schedule says %s, want %q", said, want)
		}
	}
	if got := files(); !slices.Equal(got, before) {
		t.Errorf("the folder contains %v, and not %v", got, before)
	}
}
