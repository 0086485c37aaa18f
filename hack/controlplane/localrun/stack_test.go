package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

func TestPoll(t *testing.T) {
	g := NewWithT(t)
	var s stack
	tries := 0
	g.Expect(s.poll(t.Context(), time.Minute, func(context.Context) error {
		if tries++; tries < 3 {
			return errors.New("not yet")
		}
		return nil
	})).To(Succeed())
	g.Expect(tries).To(Equal(3))

	never := errors.New("never")
	check := func(context.Context) error { return never }
	g.Expect(s.poll(t.Context(), time.Millisecond, check)).To(MatchError(never))

	p, err := process.Start(process.Spec{Name: "broken", Path: "/bin/false", Log: filepath.Join(t.TempDir(), "log")})
	g.Expect(err).NotTo(HaveOccurred())
	<-p.Done()
	s.Add(p)
	g.Expect(s.poll(t.Context(), time.Hour, check)).To(MatchError(ContainSubstring("broken ended: exit status 1")))
}

// TestApplyCRDs checks that applyCRDs retries kubectl wait, with a fake kubectl whose first wait fails as for a CRD that has no conditions
// yet.
func TestApplyCRDs(t *testing.T) {
	dir := t.TempDir()
	kubectl, calls := filepath.Join(dir, "kubectl"), filepath.Join(dir, "calls")
	script := "#!/bin/sh\necho \"$1\" >>'" + calls + "'\n[ \"$(tail -n 2 '" + calls + "' | tr '\\n' ' ')\" != 'apply wait ' ] || { echo '.status.conditions accessor error' >&2; exit 1; }\n"
	if err := os.WriteFile(kubectl, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s := stack{cluster: cluster{kubectl: kubectl, cache: dir}}
	if err := s.applyCRDs(t.Context()); err != nil {
		t.Error(err)
	}
	if called, err := os.ReadFile(calls); err != nil || string(called) != "apply\nwait\nwait\n" {
		t.Errorf("kubectl was called with %q (%v)", called, err)
	}
}

func TestLock(t *testing.T) {
	g := NewWithT(t)
	state := filepath.Join(t.TempDir(), "state")
	unlock, err := lock(state)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = lock(state)
	g.Expect(err).To(MatchError(ContainSubstring("another run uses " + state)))
	unlock()
	unlock, err = lock(state)
	g.Expect(err).NotTo(HaveOccurred())
	unlock()
}
