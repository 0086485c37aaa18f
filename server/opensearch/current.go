package opensearch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// trusted is the time for which a replica relies on the definitions that it has read. If another replica revokes a token, every replica
// refuses the token after this time, even a replica that can no longer read the definitions. The documented limit is one second. trusted
// is shorter, because a change needs some time to get from the library to the library's callers.
const trusted = 900 * time.Millisecond

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
func (r *records) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		pause := time.NewTicker(trusted / 2)
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
func (r *records) revoke(hits []recordHit) bool {
	set := r.state.Load().set
	return slices.ContainsFunc(hits, func(h recordHit) bool {
		seen := r.seen[h.ID]
		if seen.version == h.version {
			return false
		}
		e := set.Entry(seen.source)
		return h.Source.Gone || h.Term > r.term || e != nil && e.Latest.Token != nil
	})
}

// Current waits until the definitions are known to be recent. See library.Follower.
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
			if !l.calls.waits.TryAcquire(1) {
				return fmt.Errorf("%w: %d requests are already waiting for the definitions, which is the limit", library.ErrUnavailable, waitsAtOnce)
			}
			defer l.calls.waits.Release(1)
			patience := reconnect
			if l.records.fails() {
				// The longer a failure lasts, the shorter a request waits, so that requests do not accumulate.
				patience = max(0, reconnect-asked.Sub(at.Add(trusted)))
			}
			timer := time.NewTimer(patience)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			return fmt.Errorf("%w: for %s, this replica has been unable to read the definitions, "+
				"so it may have missed that a token was revoked: %s", library.ErrUnavailable, time.Since(at).Round(time.Second), l.records.problem())
		}
	}
}
