package records

import (
	"context"
	"slices"
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

// watch advances currency in the background while the caller stores a change. The follower cannot advance it, because the caller holds
// changing. While an unread document may revoke a token, watch does not advance it. The caller must not change r until it has called
// stop.
func (r *Records) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		pause := time.NewTicker(Trusted / 2)
		defer pause.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-pause.C:
			}
			began := time.Now()
			if hits, err := r.since(ctx, r.next); err == nil && !r.revoke(hits) && r.attached(ctx) == nil {
				r.currency.advance(began)
			}
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// revoke reports whether documents that this replica has not read yet may revoke a token.
func (r *Records) revoke(hits []recordHit) bool {
	set := r.Now().Set
	return slices.ContainsFunc(hits, func(h recordHit) bool {
		seen := r.seen[h.ID]
		if seen.Version == h.Version {
			return false
		}
		e := set.Entry(seen.source)
		return h.Source.Gone || h.Term > r.term || e != nil && e.Latest.Token != nil
	})
}

// Checked returns the time up to which the definitions of this replica are known to be complete. The channel is closed when this time
// changes.
func (r *Records) Checked() (at time.Time, changed <-chan struct{}) { return r.currency.get() }
