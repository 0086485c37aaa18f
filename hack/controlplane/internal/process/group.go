//go:build unix

package process

import (
	"context"
	"errors"
	"slices"
)

// Member is something that runs until it is stopped, for example a Process.
type Member interface {
	// Done returns a channel that is closed when the member has ended.
	Done() <-chan struct{}
	// Err returns nil while the member runs. Afterwards, it returns the reason why the member ended.
	Err() error
	// Stop stops the member and waits until it has ended.
	Stop()
}

// Group is a set of members that run together. The zero Group is empty and ready for use by one goroutine.
type Group struct{ members []Member }

// Add adds a member.
func (g *Group) Add(m Member) { g.members = append(g.members, m) }

// Err returns the errors of all members that have ended, joined, or nil if all members still run.
func (g *Group) Err() error {
	var ended []error
	for _, m := range g.members {
		ended = append(ended, m.Err())
	}
	return errors.Join(ended...)
}

// Wait waits until at least one member has ended, and returns the result of Err. If ctx ends first, it returns nil.
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

// Stop stops all members in reverse order and removes them.
func (g *Group) Stop() {
	for _, m := range slices.Backward(g.members) {
		m.Stop()
	}
	g.members = nil
}
