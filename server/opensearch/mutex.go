package opensearch

import "context"

// mutex is a lock that can be waited for with a context, because its holder sends requests to the cluster.
type mutex chan struct{}

func newMutex() mutex { return make(mutex, 1) }

// lock takes the lock. If ctx ends first, the error is its cause.
func (m mutex) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case m <- struct{}{}:
		return func() { <-m }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
