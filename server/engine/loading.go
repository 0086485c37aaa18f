package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/vitrine-dev/vitrine/server/library"
)

// loading is the opening of all indexes.
type loading struct {
	ctx    context.Context
	cancel context.CancelFunc
	// done is closed when it has ended; err says how.
	done chan struct{}
	err  error

	mu sync.Mutex
	// left is set when nobody waits for it any more, failed when it failed before that.
	left, failed bool
	items, of    int
	failure      error
}

func newLoading() *loading {
	l := &loading{done: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// stopLoading ends what opens the indexes, if anything does.
func (f *follower) stopLoading() {
	f.mu.RLock()
	l := f.loading
	f.mu.RUnlock()
	if l != nil {
		l.cancel()
		<-l.done
	}
}

// replayed notes how many items are taken in again, and of how many.
func (l *loading) replayed(items, of int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items, l.of, l.failure = items, of, nil
}

// fail notes a failure, and reports whether somebody waits who is to be told.
func (l *loading) fail(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure, l.failed = err, !l.left
	return l.failed
}

// leave leaves it alone, and reports whether it has failed before.
func (l *loading) leave() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = true
	return l.failed
}

// unavailable says how far it is. It is an ErrUnavailable.
func (l *loading) unavailable() error {
	return fmt.Errorf("%w: %s", library.ErrUnavailable, l.progress())
}

func (l *loading) progress() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.failure != nil:
		return fmt.Sprintf("the index cannot be made anew: %v", l.failure)
	case l.of == 0:
		return "the index is being opened"
	}
	return fmt.Sprintf("the index is being made anew: %d of %d items", l.items, l.of)
}
