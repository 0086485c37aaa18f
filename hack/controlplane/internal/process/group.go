//go:build unix

package process

import (
	"context"
	"errors"
	"slices"
)

// Member is something that runs until it is stopped: a Process, for instance.
type Member interface {
	// Done is closed when it has ended.
	Done() <-chan struct{}
	// Err returns nil while it runs, and then why it has ended.
	Err() error
	// Stop ends it and returns when it has ended.
	Stop()
}

// Group is what runs together. The zero Group is empty and ready for use by one goroutine.
type Group struct{ members []Member }

// Add adds a member.
func (g *Group) Add(m Member) { g.members = append(g.members, m) }

// Err reports every member that has ended; nil when all of them run.
func (g *Group) Err() error {
	var ended []error
	for _, m := range g.members {
		ended = append(ended, m.Err())
	}
	return errors.Join(ended...)
}

// Wait returns Err when a member has ended, and nil when ctx has.
func (g *Group) Wait(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, m := range g.members {
		go func() {
			select {
			case <-m.Done():
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	<-ctx.Done()
	return g.Err()
}

// Stop stops all members, the last one first, and removes them.
func (g *Group) Stop() {
	for _, m := range slices.Backward(g.members) {
		m.Stop()
	}
	g.members = nil
}
