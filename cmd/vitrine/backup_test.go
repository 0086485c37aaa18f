package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestBackupAndRestore copies the store of a running server in every way there is, restores each copy, and holds what a
// server on it exports against what there was.
func TestBackupAndRestore(t *testing.T) {
	s := start(t, newStore(t))
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 200), "import", "-").want(t, 0, "200 added")
	want := vitrine(t.Context(), "", "export").stdout

	dir, file := filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "copy.tar")
	vitrine(t.Context(), "", "backup", "--data-dir", s.dir, dir).want(t, 0, "copied to "+dir)
	vitrine(t.Context(), "", "backup", "--data-dir", s.dir, file).want(t, 0, "copied to "+file)
	stream := vitrine(t.Context(), "", "backup", "--data-dir", s.dir, "-")
	stream.want(t, 0)
	vitrine(t.Context(), "", "backup", "--data-dir", s.dir, dir).want(t, exitFailed, "is not empty")
	nowhere := filepath.Join(t.TempDir(), "nowhere", "vitrine.tar")
	vitrine(t.Context(), "", "backup", "--data-dir", s.dir, nowhere).want(t, exitFailed, "write "+nowhere+": no such file or directory")
	// What comes later is in none of them.
	vitrine(t.Context(), itemLines(201, 10), "import", "-").want(t, 0, "10 added")
	// The server tidies up after the one that was refused once it notices that nobody reads on.
	eventually(t, "nothing is left in the data directory", func() bool {
		left, err := filepath.Glob(filepath.Join(s.dir, ".backup-*"))
		return err == nil && len(left) == 0
	})
	vitrine(t.Context(), "", "restore", "--data-dir", s.dir, file).want(t, exitFailed, "is not empty")
	s.signal(syscall.SIGTERM)
	vitrine(t.Context(), "", "backup", "--data-dir", s.dir, "-").want(t, exitFailed, "no server runs on "+s.dir)

	for name, source := range map[string]string{"directory": dir, "file": file, "stream": "-"} {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			vitrine(t.Context(), stream.stdout, "restore", "--data-dir", data, source).want(t, 0, "restored to "+data)
			restored := start(t, data)
			restored.environment(t)
			if got := vitrine(t.Context(), "", "export").stdout; got != want {
				t.Errorf("restored %d lines, want %d", strings.Count(got, "\n"), strings.Count(want, "\n"))
			}
			restored.signal(syscall.SIGTERM)
		})
	}
	t.Run("damaged", func(t *testing.T) {
		data := filepath.Join(t.TempDir(), "data")
		vitrine(t.Context(), stream.stdout[:len(stream.stdout)/2], "restore", "--data-dir", data, "-").want(t, exitFailed, "the backup is damaged")
		if left, err := os.ReadDir(data); err != nil || len(left) > 0 {
			t.Errorf("a failed restore left %v, %v", left, err)
		}
	})
}

// TestBackupThatIsCutShort holds that nothing is kept of one, neither by the client nor by the server.
func TestBackupThatIsCutShort(t *testing.T) {
	s := start(t, newStore(t))
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 50), "import", "-").want(t, 0, "50 added")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if got := vitrine(ctx, "", "backup", "--data-dir", s.dir, filepath.Join(dir, "copy.tar")); got.code == 0 {
		t.Errorf("a backup that was interrupted: %+v", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if err := os.MkdirAll(filepath.Join(s.dir, ".backup-dead", "pebble"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.signal(syscall.SIGKILL)
	start(t, s.dir)
	if _, err := os.Stat(filepath.Join(s.dir, ".backup-dead")); !os.IsNotExist(err) {
		t.Errorf("what a killed server left of a backup: %v", err)
	}
}
