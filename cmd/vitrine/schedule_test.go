package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/vitrine-dev/vitrine/internal/cli/schedule"
	"github.com/vitrine-dev/vitrine/internal/exit"
)

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
	folder, other := filepath.Join(t.TempDir(), "vitrine"), strings.Repeat("b", 32)
	serve := func(dir string, items int) *instance {
		s := start(t, dir, "--expect-backups", "24h")
		s.environment(t)
		if items > 0 {
			vitrine(t.Context(), itemLines(1, items), "import", "-").want(t, 0, "added")
		}
		return s
	}
	backups := func() (found []schedule.Copy) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if c, ok := schedule.ParseCopy(e.Name()); ok {
				found = append(found, c)
			}
		}
		return found
	}
	// keepBackups runs a schedule until the metrics of the server contain all lines of want, and returns the output of the schedule.
	keepBackups := func(s *instance, args []string, want ...string) string {
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
	keepBackups(a, nil, some, works)
	if len(backups()) != 1 {
		t.Fatalf("the folder contains %v", backups())
	}
	of := backups()[0]
	if said := keepBackups(b, nil, none, fails); !strings.Contains(said, "belongs to the store "+of.Store) || strings.Count(said, of.Store) != 2 {
		t.Errorf("the other server: %s", said)
	}
	if got := backups(); !slices.Equal(got, []schedule.Copy{of}) {
		t.Errorf("the folder contains %v", got)
	}
	b.signal(syscall.SIGTERM)

	// A restored store is another store, even beside the original one.
	path := filepath.Join(folder, of.Name())
	c := filepath.Join(t.TempDir(), "data")
	vitrine(t.Context(), "", "restore", "--data-dir", c, "--from-store", other, path).want(t, exit.Failed, "a backup of the store "+of.Store+" (Vitrine ", "20 items", "--from-store="+of.Store)
	vitrine(t.Context(), "", "restore", "--data-dir", c, "--from-store", "b", path).want(t, exit.Usage, "32 hexadecimal digits")
	renamed := filepath.Join(t.TempDir(), schedule.Copy{Store: other, At: of.At}.Name())
	if err := os.Link(path, renamed); err != nil {
		t.Fatal(err)
	}
	vitrine(t.Context(), "", "restore", "--data-dir", c, renamed).want(t, exit.Failed, "not of the store "+other)
	vitrine(t.Context(), "", "restore", "--data-dir", c, path).want(t, 0, "a backup of the store "+of.Store, "20 items", "an id of its own")
	restored := serve(c, 0)
	if said := keepBackups(restored, nil, none, fails); !strings.Contains(said, "--take-over="+of.Store) {
		t.Errorf("the restored store beside the original: %s", said)
	}
	keepBackups(a, nil, some, works)
	keepBackups(restored, []string{"--take-over", of.Store}, some, works)
	now := backups()
	if len(now) != 2 || !slices.Contains(now, of) || now[0].Store == now[1].Store {
		t.Errorf("after the folder was taken over, it contains %v", now)
	}
	// The time of the last success stays that of the server's own backup.
	if said := keepBackups(a, nil, some, fails); !strings.Contains(said, "belongs to the store") {
		t.Errorf("the store whose folder was taken over: %s", said)
	}
	for _, args := range [][]string{{"--take-over", other, folder}, {"--take-over", "x", "--every", "1h", folder}} {
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
	run := func(s *instance, until func() bool) string {
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
		names, err := filepath.Glob(filepath.Join(folder, "*.tar"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	run(s, func() bool { return len(files()) == 1 })
	before := files()
	s.signal(syscall.SIGTERM)

	s = start(t, older)
	said := run(s, func() bool {
		_, page := get(t, "http://"+s.addresses["metrics"]+"/metrics")
		return strings.Contains(page, "\nvitrine_backup_failures_total 1\n")
	})
	for _, want := range []string{filepath.Base(before[0]), "it has 0 items", "the backup has 20 items", "Restore this backup"} {
		if !strings.Contains(said, want) {
			t.Errorf("the schedule says %s, want %q", said, want)
		}
	}
	if got := files(); !slices.Equal(got, before) {
		t.Errorf("the folder contains %v, and not %v", got, before)
	}
}
