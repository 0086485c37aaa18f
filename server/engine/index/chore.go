package index

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// retryAfter is how long the background waits after a failure.
const retryAfter = 2 * time.Second

// chore is work that is done in the background when there is something to do, and by one at a time.
type chore struct {
	// wanted holds one signal at most; hold is empty while somebody is at it.
	wanted, hold chan struct{}

	mu      sync.Mutex
	problem error
}

func newChore() *chore {
	c := &chore{wanted: make(chan struct{}, 1), hold: make(chan struct{}, 1)}
	c.hold <- struct{}{}
	return c
}

// wake says that there may be something to do.
func (c *chore) wake() {
	select {
	case c.wanted <- struct{}{}:
	default:
	}
}

// with calls do while nobody else is at it.
func (c *chore) with(ctx context.Context, do func() error) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.hold:
	}
	defer func() { c.hold <- struct{}{} }()
	return do()
}

// failing returns why the work could not be done last time, nil when it could.
func (c *chore) failing() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.problem
}

func (c *chore) setProblem(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problem = err
}

// run does a chore whenever there is something to do, until the index ends. What failed is tried again after a while.
func (x *Index) run(c *chore, tidy func(context.Context) error) {
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-c.wanted:
		}
		err := c.with(x.ctx, func() error { return tidy(x.ctx) })
		if x.ctx.Err() != nil {
			return
		}
		c.setProblem(err)
		if err == nil {
			continue
		}
		x.o.Logger.Warn("the segments of the index cannot be tidied up; it is tried again", slog.Any("error", err))
		timer := time.NewTimer(retryAfter)
		select {
		case <-x.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			c.wake()
		}
	}
}
