package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/reference"
)

// sweeping is a library whose sweeps block until the test releases them.
type sweeping struct {
	library.Library
	began, release chan struct{}
}

func (l sweeping) Sweep(ctx context.Context, scope library.Scope, keep []library.Owner) (int, error) {
	l.began <- struct{}{}
	<-l.release
	return l.Library.Sweep(ctx, scope, keep)
}

// newLibrary returns an empty library.
func newLibrary(t *testing.T) library.Library {
	t.Helper()
	l, err := reference.Open(reference.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// TestStatusDuringASweep checks that probes and scrapes do not wait for a sweep. It also checks that a store counts as not loaded during
// the handover to another cluster, even after a restart.
func TestStatusDuringASweep(t *testing.T) {
	stored := newLibrary(t)
	ctx := t.Context()
	if err := errors.Join(stored.SetMark(ctx, markInstall, "theirs"), stored.SetMark(ctx, markLoaded, "true")); err != nil {
		t.Fatal(err)
	}
	lib := sweeping{stored, make(chan struct{}), make(chan struct{})}
	o := Options{Library: lib, RESTConfig: func() (*rest.Config, error) { return nil, errors.New("not asked") }}
	s, err := NewSupervisor(o)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Loaded() {
		t.Error("a store with a recorded load counts as not loaded")
	}
	if err := s.admit("ours"); err == nil {
		t.Error("another cluster is admitted")
	}
	confirmed := make(chan error, 1)
	go func() { _, err := s.ConfirmSweep(ctx); confirmed <- err }()
	<-lib.began
	if st := s.Status(); st.Remembered || s.Loaded() {
		t.Errorf("during the handover: %+v", st)
	}
	again, err := NewSupervisor(o)
	if err != nil {
		t.Fatal(err)
	}
	if again.Loaded() {
		t.Error("after a restart in between, the store counts as loaded")
	}
	close(lib.release)
	if err := <-confirmed; err != nil {
		t.Error(err)
	}
}

// TestTwoInstallations checks that an installation does not use the library of another installation in the same cluster unless a user
// confirms the handover.
func TestTwoInstallations(t *testing.T) {
	stored := newLibrary(t)
	supervisor := func(lease string) *Supervisor {
		s, err := NewSupervisor(Options{
			Library: leading{stored}, RESTConfig: func() (*rest.Config, error) { return nil, errors.New("not asked") },
			Lease: &Lease{Namespace: "default", Name: lease, Identity: "pod_1"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, second := supervisor("first"), supervisor("second")
	if err := stored.SetMark(t.Context(), markLease, "default/first"); err != nil {
		t.Fatal(err)
	}
	if err := first.admit("cluster"); err != nil {
		t.Errorf("the installation of the library: %v", err)
	}
	if err := second.admit("cluster"); err == nil || !strings.Contains(err.Error(), "default/first") || !strings.Contains(err.Error(), "--opensearch-index-prefix") {
		t.Errorf("another installation: %v, want an error with the other Lease and what to do", err)
	}
	if n, err := second.ConfirmSweep(t.Context()); n != 0 || err != nil {
		t.Errorf("taking over removed %d: %v", n, err)
	}
	if err := second.admit("cluster"); err != nil {
		t.Errorf("after taking over: %v", err)
	}
	if err := first.admit("cluster"); err == nil {
		t.Error("the first installation still uses the library")
	}
}

// leading is a library that replicas can share.
type leading struct{ library.Library }

func (l leading) Lead(context.Context, string) (library.Library, error) { return l.Library, nil }
