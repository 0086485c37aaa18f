package opensearch

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
)

// These constants limit the concurrent calls of one replica. Further calls fail immediately, so that the memory of the replica stays
// limited while the cluster does not respond.
const (
	// readsAtOnce is the maximum number of concurrent reads.
	readsAtOnce = 1000
	// writtenAtOnce is the maximum number of mutations in all concurrent writes together.
	writtenAtOnce = 50_000
	// waitsAtOnce is the maximum number of waiting calls of Current.
	waitsAtOnce = 1000
	// leastWritten is the minimum weight of a write. A write with fewer mutations counts as leastWritten mutations.
	leastWritten = 50
)

// calls limits the calls in progress. It rejects all calls after it was closed.
type calls struct {
	closed                atomic.Bool
	reads, written, waits *semaphore.Weighted
	readTimeout           time.Duration
}

func newCalls(readTimeout time.Duration) *calls {
	return &calls{
		reads: semaphore.NewWeighted(readsAtOnce), written: semaphore.NewWeighted(writtenAtOnce), waits: semaphore.NewWeighted(waitsAtOnce),
		readTimeout: readTimeout,
	}
}

// alive returns ErrClosed if the library is closed, or the error of ctx if ctx has ended.
func (c *calls) alive(ctx context.Context) error {
	if c.closed.Load() {
		return library.ErrClosed
	}
	return ctx.Err()
}

// reading begins a read. The returned context ends after Options.ReadTimeout. The caller must call end.
func (c *calls) reading(ctx context.Context) (within context.Context, end func(), err error) {
	if err := c.alive(ctx); err != nil {
		return nil, nil, err
	}
	if !c.reads.TryAcquire(1) {
		return nil, nil, fmt.Errorf("%w: this replica already has %d reads in progress, which is the limit", library.ErrUnavailable, readsAtOnce)
	}
	within, cancel := cluster.Limited(ctx, c.readTimeout)
	return within, func() {
		cancel()
		c.reads.Release(1)
	}, nil
}

// writing begins a write of n mutations or definitions. The caller must call end.
func (c *calls) writing(ctx context.Context, n int) (end func(), err error) {
	if err := c.alive(ctx); err != nil {
		return nil, err
	}
	weight := int64(min(max(n, leastWritten), writtenAtOnce))
	if !c.written.TryAcquire(weight) {
		return nil, fmt.Errorf("%w: with this write, the writes in progress on this replica would exceed the limit of %d items",
			library.ErrUnavailable, writtenAtOnce)
	}
	return func() { c.written.Release(weight) }, nil
}
