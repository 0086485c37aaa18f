package controllers

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// serving compares what the statuses of the Properties report with what the library serves. It lists only the Properties that are in
// trouble, or that a status reports as not served.
type serving struct {
	mu sync.Mutex
	// reported contains the trouble that the last pass of each Property has reported. since contains the time at which outdated or a pass
	// first saw a trouble that differs from the reported one.
	reported map[library.PropertyID]library.Trouble
	since    map[library.PropertyID]time.Time
}

func newServing() *serving {
	return &serving{reported: map[library.PropertyID]library.Trouble{}, since: map[library.PropertyID]time.Time{}}
}

// interrupted returns the time since which the library does not serve a Property, which is at most now. It returns the zero time if an
// earlier pass has reported this.
func (s *serving) interrupted(p library.PropertyID, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.reported[p]; ok {
		return time.Time{}
	}
	if _, ok := s.since[p]; !ok {
		s.since[p] = now
	}
	return s.since[p]
}

// report records the trouble that a pass of a Property reports, or nil if the library serves the Property.
func (s *serving) report(p library.PropertyID, t *library.Trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, p)
	if t != nil {
		s.reported[p] = *t
	} else {
		delete(s.reported, p)
	}
}

// outdated returns the properties whose status must change. A property that the library serves again is returned at once. Any other change
// is returned after the duration grace, so that a short interruption causes no status writes.
func (s *serving) outdated(state library.State, all []library.PropertyID, now time.Time, grace time.Duration) []library.PropertyID {
	s.mu.Lock()
	defer s.mu.Unlock()
	var outdated []library.PropertyID
	for _, p := range all {
		was, reported := s.reported[p]
		t := state.Serving(p)
		if t == nil && !reported || t != nil && reported && *t == was {
			delete(s.since, p)
			continue
		}
		if _, ok := s.since[p]; !ok {
			s.since[p] = now
		}
		if t == nil || now.Sub(s.since[p]) >= grace {
			outdated = append(outdated, p)
		}
	}
	return outdated
}

// forget drops what is known about a Property that no longer exists.
func (s *serving) forget(p library.PropertyID) { s.report(p, nil) }

// FollowServing requeues the Properties that the library stops or starts to serve, until ctx ends. It checks the library at the given
// interval, and requeues nothing while nothing changes.
func (s *Set) FollowServing(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		state := s.Library.State(ctx)
		if ctx.Err() != nil {
			return
		}
		for _, p := range s.serving.outdated(state, s.Library.Properties(), s.Clock(), s.PropertyGrace) {
			namespace, name, _ := strings.Cut(string(p), "/")
			s.queues.add(library.Owner{Kind: library.KindProperty, Namespace: namespace, Name: name})
		}
	}
}
