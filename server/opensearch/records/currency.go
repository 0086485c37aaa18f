package records

import (
	"sync"
	"time"
)

// Trusted is the time for which a replica relies on the definitions that it has read. If another replica revokes a token, every replica
// refuses the token after this time, even a replica that can no longer read the definitions. The documented limit is one second. trusted
// is shorter, because a change needs some time to get from the library to the library's callers.
const Trusted = 900 * time.Millisecond

// currency describes how current the definitions of this replica are. It holds the time up to which the definitions are known to be
// complete.
type currency struct {
	mu sync.Mutex
	// at is the time at which the last successful check for changes began.
	at time.Time
	// changed is closed when at changes.
	changed chan struct{}
}

func newCurrency() *currency { return &currency{changed: make(chan struct{})} }

// advance sets the time, unless it is already later.
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
