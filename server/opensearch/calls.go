package opensearch

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"

	"github.com/vitrine-dev/vitrine/server/library"
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

// calls limits the calls in progress.
type calls struct{ reads, written, waits *semaphore.Weighted }

func newCalls() calls {
	return calls{semaphore.NewWeighted(readsAtOnce), semaphore.NewWeighted(writtenAtOnce), semaphore.NewWeighted(waitsAtOnce)}
}

// reading begins a read. The returned context ends after Options.ReadTimeout. The caller must call end.
func (l *Library) reading(ctx context.Context) (within context.Context, end func(), err error) {
	if err := l.alive(ctx); err != nil {
		return nil, nil, err
	}
	if !l.calls.reads.TryAcquire(1) {
		return nil, nil, fmt.Errorf("%w: this replica already has %d reads in progress, which is the limit", library.ErrUnavailable, readsAtOnce)
	}
	within, cancel := limited(ctx, l.options.ReadTimeout)
	return within, func() {
		cancel()
		l.calls.reads.Release(1)
	}, nil
}

// writing begins a write of n mutations or definitions. The caller must call end.
func (l *Library) writing(ctx context.Context, n int) (end func(), err error) {
	if err := l.alive(ctx); err != nil {
		return nil, err
	}
	weight := int64(min(max(n, leastWritten), writtenAtOnce))
	if !l.calls.written.TryAcquire(weight) {
		return nil, fmt.Errorf("%w: with this write, the writes in progress on this replica would exceed the limit of %d items",
			library.ErrUnavailable, writtenAtOnce)
	}
	return func() { l.calls.written.Release(weight) }, nil
}
