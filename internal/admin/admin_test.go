package admin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/internal/backup"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// fake is a server with a held sweep and one property.
type fake struct {
	held   bool
	stored map[library.PropertyID]int64
	// backups is the argument of the last call of ReportBackups.
	backups Backups
}

func (f *fake) Sweep(context.Context) (Sweep, error) {
	return Sweep{Kubernetes: true, Held: f.held, Remove: 30, Total: 60}, nil
}

func (f *fake) ConfirmSweep(context.Context) (int, error) {
	if !f.held {
		return 0, errors.New("no sweep is held")
	}
	f.held = false
	return 30, nil
}

func (f *fake) Stored(context.Context) (map[library.PropertyID]int64, error) { return f.stored, nil }

func (f *fake) Purge(_ context.Context, p library.PropertyID) error {
	if _, ok := f.stored[p]; !ok {
		return library.ErrNotFound
	}
	delete(f.stored, p)
	return nil
}

func (f *fake) Census(context.Context) (backup.Census, error) {
	return backup.Census{Store: "a", Batch: 7, Items: 5, Deleted: 2}, nil
}

func (f *fake) Backup(_ context.Context, w io.Writer, o BackupOptions) (damage, err error) {
	if o.Store != "" && o.Store != "a" {
		return nil, errors.New("another store")
	}
	if o.EvenDamaged {
		damage = errors.New("a bad block")
	}
	if _, err := io.WriteString(w, "half of it"); err != nil || f.held {
		return damage, err
	}
	return damage, errors.New("the disk is full")
}

func (f *fake) ReportBackups(_ context.Context, b Backups) error {
	f.backups = b
	return nil
}

func (f *fake) Migrate(_ context.Context, to OpenSearch, progress func(transfer.Progress)) (*transfer.Report, error) {
	progress(transfer.Progress{Done: 1, Total: 2})
	progress(transfer.Progress{Verifying: true, Done: 2, Total: 2})
	if to.Prefix == "full" {
		return nil, errors.New("the cluster contains a library")
	}
	return &transfer.Report{Definitions: 3, Properties: []transfer.PropertyReport{{Property: "shop/old", Items: 2, Sum: "ab"}}}, nil
}

func (f *fake) CancelMigration(context.Context) (string, error) {
	if f.held {
		return "", errors.New("a copy is in progress")
	}
	return "delete the copy", nil
}

// serve serves ops on the socket in dir until the returned function is called.
func serve(t *testing.T, dir string, ops Operations) (stop func()) {
	t.Helper()
	return serveBy(t, dir, &http.Server{Handler: Handler(ops, time.Minute), ReadHeaderTimeout: time.Second})
}

// serveBy is like serve, but with the given server.
func serveBy(t *testing.T, dir string, s *http.Server) (stop func()) {
	t.Helper()
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	return func() { _ = s.Close(); <-done }
}

func TestOperations(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	c := NewClient(dir)
	if _, err := c.Sweep(ctx); !errors.Is(err, ErrNoServer) {
		t.Errorf("without a server: %v", err)
	}

	ops := &fake{held: true, stored: map[library.PropertyID]int64{"shop/old": 12}}
	defer serve(t, dir, ops)()
	got, err := c.Sweep(ctx)
	if diff := cmp.Diff(Sweep{Kubernetes: true, Held: true, Remove: 30, Total: 60}, got); diff != "" || err != nil {
		t.Errorf("sweep: %v\n%s", err, diff)
	}
	var copied strings.Builder
	if damage, err := c.Backup(ctx, &copied, BackupOptions{}); damage != nil || err != nil || copied.String() != "half of it" {
		t.Errorf("backup: %q, %v, %v", copied.String(), damage, err)
	}
	if damage, err := c.Backup(ctx, io.Discard, BackupOptions{EvenDamaged: true}); damage == nil || damage.Error() != "a bad block" || err != nil {
		t.Errorf("backup of a damaged store: %v, %v", damage, err)
	}
	if got, err := c.Census(ctx); err != nil || got != (backup.Census{Store: "a", Batch: 7, Items: 5, Deleted: 2}) {
		t.Errorf("census: %+v, %v", got, err)
	}
	for id, want := range map[string]bool{"a": true, "b": false} {
		if _, err := c.Backup(ctx, io.Discard, BackupOptions{Store: id}); (err == nil) != want {
			t.Errorf("backup of the store %s: %v", id, err)
		}
	}
	if n, err := c.ConfirmSweep(ctx); n != 30 || err != nil {
		t.Errorf("confirm: %d, %v", n, err)
	}
	if _, err := c.ConfirmSweep(ctx); err == nil || err.Error() != "no sweep is held" {
		t.Errorf("confirm again: %v", err)
	}

	if _, err := c.Backup(ctx, io.Discard, BackupOptions{}); err == nil || err.Error() != "the disk is full" {
		t.Errorf("a backup that fails in the middle: %v", err)
	}

	for _, b := range []Backups{{Failures: 1}, {Newest: time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)}} {
		if err := c.ReportBackups(ctx, b); err != nil || ops.backups != b {
			t.Errorf("report of backups: %+v, want %+v, %v", ops.backups, b, err)
		}
	}

	if said, err := c.CancelMigration(ctx); err != nil || said != "delete the copy" {
		t.Errorf("cancel: %v", err)
	}
	var seen []transfer.Progress
	see := func(p transfer.Progress) { seen = append(seen, p) }
	report, err := c.Migrate(ctx, OpenSearch{URLs: []string{"https://search.example"}}, see)
	if err != nil || report.Definitions != 3 || len(report.Properties) != 1 || len(seen) != 2 || !seen[1].Verifying {
		t.Errorf("migrate: %+v, %+v, %v", report, seen, err)
	}
	if _, err := c.Migrate(ctx, OpenSearch{Prefix: "full"}, see); err == nil || err.Error() != "the cluster contains a library" {
		t.Errorf("a migration that is refused: %v", err)
	}

	stored, err := c.Stored(ctx)
	if diff := cmp.Diff(map[library.PropertyID]int64{"shop/old": 12}, stored); diff != "" || err != nil {
		t.Errorf("stored: %v\n%s", err, diff)
	}
	if err := c.Purge(ctx, "shop/other"); err == nil {
		t.Error("an unknown property was purged")
	}
	if err := c.Purge(ctx, "shop/old"); err != nil {
		t.Errorf("purge: %v", err)
	}
}

// piece is a part of a backup that does not fit into the buffers of a connection.
var piece = make([]byte, 64<<10)

// slow implements operations that take longer than the timeouts of the http.Server.
type slow struct {
	*fake
	takes time.Duration
}

func (s slow) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.takes):
		return nil
	}
}

func (s slow) ConfirmSweep(ctx context.Context) (int, error) { return 30, s.wait(ctx) }

func (s slow) Purge(ctx context.Context, _ library.PropertyID) error { return s.wait(ctx) }

func (s slow) Backup(ctx context.Context, w io.Writer, _ BackupOptions) (damage, err error) {
	for range 3 {
		if _, err := w.Write(piece); err != nil {
			return nil, err
		}
		if err := s.wait(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// TestOperationsOutlastServerTimeouts checks that operations may take longer than the timeouts of the http.Server.
func TestOperationsOutlastServerTimeouts(t *testing.T) {
	const timeout = 50 * time.Millisecond
	ctx, dir := t.Context(), t.TempDir()
	ops := slow{&fake{}, 2 * timeout}
	defer serveBy(t, dir, &http.Server{Handler: Handler(ops, time.Minute), ReadTimeout: timeout, WriteTimeout: timeout})()
	c := NewClient(dir)
	var copied bytes.Buffer
	if _, err := c.Backup(ctx, &copied, BackupOptions{}); err != nil || copied.Len() != 3*len(piece) {
		t.Errorf("backup: %d bytes, %v", copied.Len(), err)
	}
	if n, err := c.ConfirmSweep(ctx); n != 30 || err != nil {
		t.Errorf("confirm: %d, %v", n, err)
	}
	if err := c.Purge(ctx, "shop/old"); err != nil {
		t.Errorf("purge: %v", err)
	}
}

// endless implements a backup that never ends. ended receives the error that stopped the backup.
type endless struct {
	*fake
	ended chan error
}

func (e endless) Backup(_ context.Context, w io.Writer, _ BackupOptions) (damage, err error) {
	for err == nil {
		_, err = w.Write(make([]byte, 64<<10))
	}
	e.ended <- err
	return nil, err
}

// TestStalledReaderIsDisconnected checks that a backup ends if its client reads nothing.
func TestStalledReaderIsDisconnected(t *testing.T) {
	dir := t.TempDir()
	ops := endless{&fake{}, make(chan error, 1)}
	defer serveBy(t, dir, &http.Server{Handler: Handler(ops, 50*time.Millisecond), ReadHeaderTimeout: time.Second})()
	r, w := io.Pipe() // nothing reads from r until the backup has been stopped
	defer r.Close()
	received := make(chan error, 1)
	go func() {
		_, err := NewClient(dir).Backup(t.Context(), w, BackupOptions{})
		received <- err
	}()
	if err := <-ops.ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the backup ended with %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if err := <-received; err == nil || !strings.Contains(err.Error(), "the backup is incomplete") {
		t.Errorf("the client reports %v", err)
	}
}

func TestSocketIsPrivateAndReplaced(t *testing.T) {
	dir := t.TempDir()
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(SocketPath(dir))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	// Imitate a killed server, which leaves its socket behind.
	_ = l.(*listener).Listener.Close()
	if _, err := NewClient(dir).Sweep(t.Context()); !errors.Is(err, ErrNoServer) {
		t.Errorf("with a socket that a killed server left: %v", err)
	}
	stop := serve(t, dir, &fake{})
	if _, err := NewClient(dir).Sweep(t.Context()); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	stop()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
