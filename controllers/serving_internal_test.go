package controllers

import (
	"slices"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// TestOutdated checks when the status of a Property must change, after the state of the library has changed.
func TestOutdated(t *testing.T) {
	const p = library.PropertyID("shop/default")
	failed := library.State{Ready: true, Troubles: map[library.PropertyID]library.Trouble{p: {Unserved: true, Problem: "the disk fails"}}}
	rebuilt := library.State{Ready: true, Troubles: map[library.PropertyID]library.Trouble{p: {Unserved: true, Passing: true, Problem: "rebuilding"}}}
	degraded := library.State{Ready: true, Troubles: map[library.PropertyID]library.Trouble{p: {Problem: "no writes"}}}
	ready, down := library.State{Ready: true}, library.State{}
	s := newServing()
	now := start
	for i, step := range []struct {
		state library.State
		after time.Duration
		want  bool
	}{
		{state: ready},
		{state: degraded},
		{state: failed},
		{state: failed, after: 29 * time.Second},
		{state: ready, after: time.Minute}, // a short interruption
		{state: failed},
		{state: failed, after: 30 * time.Second, want: true},
		{state: failed, after: time.Hour},
		{state: rebuilt},
		{state: rebuilt, after: 30 * time.Second, want: true},
		{state: ready, want: true},
		{state: ready, after: time.Hour},
		{state: down},
		{state: down, after: 30 * time.Second, want: true},
		{state: ready, want: true},
	} {
		now = now.Add(step.after)
		got := slices.Contains(s.outdated(step.state, []library.PropertyID{p}, now, 30*time.Second), p)
		if got != step.want {
			t.Errorf("step %d: outdated is %v, want %v", i, got, step.want)
		}
		if got {
			s.report(p, step.state.Serving(p)) // the pass of the Property
		}
	}
}
