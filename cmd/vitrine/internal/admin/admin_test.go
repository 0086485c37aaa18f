package admin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/library"
)

// fake is a server whose sweep is held and that has one property.
type fake struct {
	held   bool
	stored map[library.PropertyID]int64
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

func (f *fake) Backup(_ context.Context, w io.Writer) error {
	if _, err := io.WriteString(w, "half of it"); err != nil || f.held {
		return err
	}
	return errors.New("the disk is full")
}

// serve listens in dir until the returned function is called.
func serve(t *testing.T, dir string, ops Operations) (stop func()) {
	t.Helper()
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: Handler(ops), ReadHeaderTimeout: time.Second}
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

	defer serve(t, dir, &fake{held: true, stored: map[library.PropertyID]int64{"shop/old": 12}})()
	got, err := c.Sweep(ctx)
	if diff := cmp.Diff(Sweep{Kubernetes: true, Held: true, Remove: 30, Total: 60}, got); diff != "" || err != nil {
		t.Errorf("sweep: %v\n%s", err, diff)
	}
	var copied strings.Builder
	if err := c.Backup(ctx, &copied); err != nil || copied.String() != "half of it" {
		t.Errorf("backup: %q, %v", copied.String(), err)
	}
	if n, err := c.ConfirmSweep(ctx); n != 30 || err != nil {
		t.Errorf("confirm: %d, %v", n, err)
	}
	if _, err := c.ConfirmSweep(ctx); err == nil || err.Error() != "no sweep is held" {
		t.Errorf("confirm again: %v", err)
	}

	if err := c.Backup(ctx, io.Discard); err == nil || err.Error() != "the disk is full" {
		t.Errorf("a backup that fails half way: %v", err)
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
	// A killed server leaves its socket.
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
