package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSchedule checks when a scheduled backup is made, and which backups stay.
func TestSchedule(t *testing.T) {
	at := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	broken := errors.New("no server runs")
	var failure error
	s := &schedule{
		dir: t.TempDir(), every: 24 * time.Hour, keep: 2, now: func() time.Time { return at },
		copy: func(path string) error {
			if failure != nil {
				return failure
			}
			return os.WriteFile(path, nil, 0o600)
		},
	}
	if err := os.WriteFile(filepath.Join(s.dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
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
		wait, err := s.step()
		if wait != step.wait || !errors.Is(err, step.failure) {
			t.Errorf("%s: wait %s, want %s (%v)", step.about, wait, step.wait, err)
		}
		entries, err := filepath.Glob(filepath.Join(s.dir, "*.tar"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, filepath.Base(e))
		}
		if diff := cmp.Diff(step.copies, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.about, diff)
		}
	}
	// What a killed command left is removed, and space is made before the next backup.
	left := filepath.Join(s.dir, incompletePrefix+"1")
	if err := errors.Join(os.WriteFile(left, nil, 0o600), os.Chtimes(left, at, at.Add(-2*time.Hour))); err != nil {
		t.Fatal(err)
	}
	at, s.keep, failure = at.Add(48*time.Hour), 1, broken
	if _, err := s.step(); !errors.Is(err, broken) {
		t.Error(err)
	}
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v, want one backup and notes.txt", entries, err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "notes.txt")); err != nil {
		t.Errorf("another file was removed: %v", err)
	}
	s.dir = filepath.Join(s.dir, "nowhere")
	if _, err := s.step(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

// TestScheduledBackup makes a scheduled backup of a running server, and restores it before a start, as the chart does.
func TestScheduledBackup(t *testing.T) {
	s := start(t, newStore(t))
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 20), "import", "-").want(t, 0, "20 added")
	want := vitrine(t.Context(), "", "export").stdout
	to := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() { ended <- vitrine(ctx, "", "backup", "--data-dir", s.dir, "--every", "24h", "--keep", "2", to) }()
	var copies []string
	eventually(t, "a backup is in the directory", func() bool {
		copies, _ = filepath.Glob(filepath.Join(to, "vitrine-*Z.tar"))
		return len(copies) == 1
	})
	stop()
	(<-ended).want(t, 0)
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
	} {
		vitrine(t.Context(), "", append([]string{"backup", "--data-dir", s.dir}, args...)...).want(t, exitUsage)
	}
}
