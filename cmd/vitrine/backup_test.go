package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/backup"
	"github.com/vitrine-dev/vitrine/internal/exit"
)

// TestBackupAndRestore copies the store of a running server to each kind of target and restores each copy. It checks that a server on the
// restored store returns the same export as the original server.
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
	vitrine(t.Context(), "", "backup", "--data-dir", s.dir, dir).want(t, exit.Failed, "is not empty")
	nowhere := filepath.Join(t.TempDir(), "nowhere", "vitrine.tar")
	vitrine(t.Context(), "", "backup", "--data-dir", s.dir, nowhere).want(t, exit.Failed, "cannot write "+nowhere+": its directory does not exist: create the directory")
	// No backup contains these items, because they are imported after all backups.
	vitrine(t.Context(), itemLines(201, 10), "import", "-").want(t, 0, "10 added")
	// The server removes its copy for the failed backup as soon as it notices that the client has stopped reading.
	eventually(t, "nothing is left in the data directory", func() bool {
		left, err := filepath.Glob(filepath.Join(s.dir, ".backup-*"))
		return err == nil && len(left) == 0
	})
	vitrine(t.Context(), "", "restore", "--data-dir", s.dir, file).want(t, exit.Failed, "is not empty")
	s.signal(syscall.SIGTERM)
	vitrine(t.Context(), "", "backup", "--data-dir", s.dir, "-").want(t, exit.Failed, "no running server uses "+s.dir)

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
		vitrine(t.Context(), stream.stdout[:len(stream.stdout)/2], "restore", "--data-dir", data, "-").want(t, exit.Failed, "the backup is damaged")
		if left, err := os.ReadDir(data); err != nil || len(left) > 0 {
			t.Errorf("a failed restore left %v, %v", left, err)
		}
	})
}

// TestBackupThatCannotBeIndexed checks that the server serves a store with an item that cannot be indexed, that a backup of the store
// fails, and that backup --even-damaged copies the store.
func TestBackupThatCannotBeIndexed(t *testing.T) {
	dir := newStore(t)
	s := start(t, dir)
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 50), "import", "-").want(t, 0, "50 added")
	s.signal(syscall.SIGTERM)
	db, err := pebble.Open(filepath.Join(dir, "pebble"), &pebble.Options{FormatMajorVersion: pebble.FormatValueSeparation})
	if err != nil {
		t.Fatal(err)
	}
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte("p"), UpperBound: []byte("q")})
	if err != nil {
		t.Fatal(err)
	}
	for it.First(); it.Valid() && !bytes.Contains(it.Key(), []byte("\x00i\x00")); it.Next() {
	}
	if err := errors.Join(db.Set(it.Key(), []byte("{"), nil), it.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	s = start(t, dir)
	copies := t.TempDir()
	for _, target := range []string{filepath.Join(copies, "copy"), filepath.Join(copies, "copy.tar"), "-"} {
		got := vitrine(t.Context(), "", "backup", "--data-dir", dir, target)
		got.want(t, exit.Failed, "read item", "copy the store as it is with vitrine backup --even-damaged")
		if got.stdout != "" {
			t.Errorf("backup to %s writes %d bytes", target, len(got.stdout))
		}
	}
	if left, err := os.ReadDir(copies); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	asItIs := filepath.Join(copies, "as-it-is.tar")
	vitrine(t.Context(), "", "backup", "--data-dir", dir, "--even-damaged", asItIs).want(t, exit.Damaged, "copied to "+asItIs, "the copy is complete, but the store is damaged", "read item")
	s.signal(syscall.SIGTERM)
	restored := filepath.Join(t.TempDir(), "data")
	vitrine(t.Context(), "", "restore", "--data-dir", restored, asItIs).want(t, 0, "restored")
}

// TestInterruptedBackupIsRemoved checks that neither the client nor the server keeps an incomplete backup.
func TestInterruptedBackupIsRemoved(t *testing.T) {
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

// broken is a server that fails during a backup.
type broken struct{ admin.Operations }

func (broken) Backup(ctx context.Context, w io.Writer, _ admin.BackupOptions) (damage, err error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "000001.sst"), make([]byte, 1<<20), 0o600); err != nil {
		return nil, err
	}
	if err := backup.Write(ctx, &half{w}, dir, backup.Header{Vitrine: "test"}); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil, nil
}

// whole is a server that sends a correct backup.
type whole struct{ admin.Operations }

func (whole) Backup(ctx context.Context, w io.Writer, _ admin.BackupOptions) (damage, err error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "000001.sst"), make([]byte, 1<<20), 0o600); err != nil {
		return nil, err
	}
	return nil, backup.Write(ctx, w, dir, backup.Header{Vitrine: "test"})
}

// limited is a writer that fails after a number of bytes.
type limited struct{ left int }

func (l *limited) Write(p []byte) (int, error) {
	n := min(l.left, len(p))
	l.left -= n
	if n < len(p) {
		return n, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
	}
	return n, nil
}

// serveAdmin serves operations in a data directory until the test ends, and returns the directory.
func serveAdmin(t *testing.T, o admin.Operations) string {
	t.Helper()
	dir := t.TempDir()
	l, err := admin.Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: admin.Handler(o, time.Minute), ReadHeaderTimeout: time.Second}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return dir
}

// TestBackupThatCannotBeWritten checks that the error names the target and the cause, and does not report a damaged backup.
func TestBackupThatCannotBeWritten(t *testing.T) {
	dir := serveAdmin(t, whole{})
	for _, limit := range []int{0, 1, 512, 100_000, 1 << 20} {
		var stderr bytes.Buffer
		code := execute(t.Context(), "vitrine", []string{"backup", "--data-dir", dir, "-"}, strings.NewReader(""), &limited{limit}, &stderr)
		if got := stderr.String(); code != exit.Failed || !strings.Contains(got, "vitrine: write standard output: no space left on device") || strings.Contains(got, "damaged") {
			t.Errorf("after %d bytes: exit code %d: %s", limit, code, got)
		}
	}

	// The reader closes the pipe before the backup is complete.
	pipe := filepath.Join(t.TempDir(), "pipe.tar")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		r, err := os.Open(pipe) // blocks until the writer opens the pipe
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.CopyN(io.Discard, r, 100_000)
		_ = r.Close()
	}()
	got := vitrine(t.Context(), "", "backup", "--data-dir", dir, pipe)
	got.want(t, exit.Failed, "vitrine: write "+pipe+": broken pipe")
	if strings.Contains(got.stderr, "damaged") {
		t.Errorf("%s", got.stderr)
	}
}

// half is a writer whose writes of more than 16 KiB fail.
type half struct{ io.Writer }

func (h *half) Write(p []byte) (int, error) {
	n, err := h.Writer.Write(p)
	if len(p) > 16<<10 {
		return n, errors.New("the server is gone")
	}
	return n, err
}

// TestInterruptedBackupIsNotReportedAsDamaged checks that the error reports the lost connection, and not a damaged backup.
func TestInterruptedBackupIsNotReportedAsDamaged(t *testing.T) {
	dir := serveAdmin(t, broken{})
	for _, target := range []string{"-", filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "copy.tar")} {
		got := vitrine(t.Context(), "", "backup", "--data-dir", dir, target)
		if got.code != exit.Failed || !strings.Contains(got.stderr, "the backup is incomplete") || strings.Contains(got.stderr, "damaged") {
			t.Errorf("%s: exit code %d: %s", target, got.code, got.stderr)
		}
	}
}

// TestStoppingDuringABackup stops the server during a backup whose client has stopped reading. It checks that the backup does not prolong
// the stop of the server, and leaves no files behind.
func TestStoppingDuringABackup(t *testing.T) {
	s := start(t, newStore(t), "--drain-timeout", "200ms")
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 5000), "import", "-").want(t, 0, "5,000 added")
	begin(t, s, 5001)
	conn, err := net.Dial("unix", admin.SocketPath(s.dir))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /backup HTTP/1.1\r\nHost: vitrine\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	copies := func() []string {
		left, err := filepath.Glob(filepath.Join(s.dir, ".backup-*"))
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	eventually(t, "being copied", func() bool { return len(copies()) > 0 })
	if code := s.signal(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if left := copies(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	for _, name := range []string{"https", "admin"} {
		if !strings.Contains(s.logged(), "requests to the "+name+" listener were cut off") {
			t.Errorf("the log does not say that a request to the %s listener was cut off", name)
		}
	}
}
