package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/internal/admin"
)

// TestSchedule checks when scheduled backups are made, and which backups are kept, with a directory as the place.
func TestSchedule(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vitrine")
	write := func(name string) error { return os.WriteFile(filepath.Join(dir, name), nil, 0o600) }
	s := testSchedule(t, directory(dir), write)
	// A step removes the incomplete file that a killed command has left.
	left := filepath.Join(dir, incompletePrefix+"1")
	if err := errors.Join(write(incompletePrefix+"1"), os.Chtimes(left, s.now(), s.now().Add(-2*time.Hour))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v, want one backup and notes.txt", entries, err)
	}
	s.place = directory(filepath.Join(dir, "no", "where"))
	if _, err := s.step(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no volume: %v", err)
	}
}

// testSchedule checks a schedule in an empty place, and leaves a backup and the file notes.txt there. write writes a file to the place.
func testSchedule(t *testing.T, to place, write func(name string) error) *schedule {
	t.Helper()
	at := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	broken := errors.New("no server runs")
	var failure error
	var reported admin.Backups
	s := &schedule{
		place: to, every: 24 * time.Hour, keep: 2, now: func() time.Time { return at },
		copy: func(name string) error {
			if failure != nil {
				return failure
			}
			return write(name)
		},
		report: func(b admin.Backups) { reported = b },
	}
	files := func(about string, want ...string) {
		t.Helper()
		got, err := to.list(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", about, diff)
		}
	}
	for _, step := range []struct {
		about   string
		after   time.Duration
		failure error
		wait    time.Duration
		copies  []string
	}{
		{"the first one at once", 0, nil, 24 * time.Hour, []string{"vitrine-20261201T030000Z.tar"}},
		{"none after a restart", time.Hour, nil, 23 * time.Hour, []string{"vitrine-20261201T030000Z.tar"}},
		{"none if it fails", 23 * time.Hour, broken, 0, []string{"vitrine-20261201T030000Z.tar"}},
		{"the second one later", time.Minute, nil, 24 * time.Hour, []string{"vitrine-20261201T030000Z.tar", "vitrine-20261202T030100Z.tar"}},
		{"two stay", 25 * time.Hour, nil, 24 * time.Hour, []string{"vitrine-20261202T030100Z.tar", "vitrine-20261203T040100Z.tar"}},
		{"one from the future does not count", -time.Hour, nil, 24 * time.Hour, []string{"vitrine-20261202T030100Z.tar", "vitrine-20261203T030100Z.tar"}},
	} {
		at, failure = at.Add(step.after), step.failure
		wait, err := s.step(t.Context())
		if wait != step.wait || !errors.Is(err, step.failure) {
			t.Errorf("%s: wait %s, want %s (%v)", step.about, wait, step.wait, err)
		}
		files(step.about, step.copies...)
	}
	if want := time.Date(2026, 12, 3, 3, 1, 0, 0, time.UTC); !s.state.Newest.Equal(want) {
		t.Errorf("the newest backup is from %s, want %s", s.state.Newest, want)
	}
	if want := time.Date(2026, 12, 2, 3, 1, 0, 0, time.UTC); !reported.Newest.Equal(want) {
		t.Errorf("before a backup, the newest one is from %s, want %s", reported.Newest, want)
	}
	// Other files stay. The step removes old backups before it makes a new one.
	if err := write("notes.txt"); err != nil {
		t.Fatal(err)
	}
	at, s.keep, failure = at.Add(48*time.Hour), 1, broken
	if _, err := s.step(t.Context()); !errors.Is(err, broken) {
		t.Error(err)
	}
	files("another file", "notes.txt", "vitrine-20261203T030100Z.tar")
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
		vitrine(t.Context(), "", append([]string{"backup", "--data-dir", s.dir}, args...)...).want(t, exitUsage)
	}
}
