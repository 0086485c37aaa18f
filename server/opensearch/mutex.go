package opensearch

import "context"

// mutex is a lock that callers wait for only as long as their context allows: requests of the cluster are sent while it is held.
type mutex chan struct{}

func newMutex() mutex { return make(mutex, 1) }

// lock takes the lock. The error is the cause of the context that ended first.
func (m mutex) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case m <- struct{}{}:
		return func() { <-m }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
