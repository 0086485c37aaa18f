package opensearch

import (
	"context"
	"fmt"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

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
