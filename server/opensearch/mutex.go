package opensearch

import (
	"context"
	"errors"
	"time"
)

// mutex is a lock. Callers wait for it with a context, because its holder sends requests to the cluster.
type mutex struct {
	held  chan struct{}
	limit time.Duration
}

// newMutex returns a mutex for which callers wait for at most `limit`.
func newMutex(limit time.Duration) mutex { return mutex{make(chan struct{}, 1), limit} }

var errBusy = &unreachableError{errors.New("other changes of this replica wait for it")}

// lock waits until the lock is free and takes it. If ctx ends first, lock returns the cause of ctx.
func (m mutex) lock(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.limit, errBusy)
	defer cancel()
	select {
	case m.held <- struct{}{}:
		return func() { <-m.held }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
