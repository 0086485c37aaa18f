package opensearch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// trusted is how long a replica relies on the definitions that it has read. A token that another replica revokes is refused after that
// time, even by a replica that cannot read the definitions any longer. It is less than the documented second, because a change takes a
// moment from the library to the callers.
const trusted = 900 * time.Millisecond

// currency is the time up to which the definitions of this replica are known to be complete.
type currency struct {
	mu sync.Mutex
	// at is the time at which the last successful look for changes began.
	at time.Time
	// changed is closed when at changes.
	changed chan struct{}
}

func newCurrency() *currency { return &currency{changed: make(chan struct{})} }

// advance sets the time.
func (c *currency) advance(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.After(c.at) {
		c.at = at
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

func (c *currency) get() (at time.Time, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at, c.changed
}

// current reports whether the definitions are recent enough to rely on their tokens.
func (c *currency) current() bool {
	at, _ := c.get()
	return time.Since(at) < trusted
}

// Current waits until the definitions are known to be recent, see library.Follower.
func (l *Library) Current(ctx context.Context) error {
	asked := time.Now()
	var late <-chan time.Time
	for {
		if err := l.alive(ctx); err != nil {
			return err
		}
		at, changed := l.records.currency.get()
		if asked.Sub(at) < trusted {
			return nil
		}
		if late == nil {
			timer := time.NewTimer(reconnect)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			return fmt.Errorf("%w: the definitions could not be read for %s, so a token could have been revoked: %s",
				library.ErrUnavailable, time.Since(at).Round(time.Second), l.records.problem())
		}
	}
}
