package engine

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// loading opens the indexes of all properties, and later retries those that failed.
type loading struct {
	ctx    context.Context
	cancel context.CancelFunc
	// done is closed when every index is open or has failed; err is the context's error when that was canceled. ended is closed
	// when failed indexes are no longer retried.
	done, ended chan struct{}
	err         error
	// failed holds at most one signal: the index of a property could not be opened.
	failed chan struct{}

	mu        sync.Mutex
	items, of int
}

func newLoading() *loading {
	l := &loading{done: make(chan struct{}), ended: make(chan struct{}), failed: make(chan struct{}, 1)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// replayed notes how many items were read again for an index, and of how many.
func (l *loading) replayed(items, of int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items, l.of = items, of
}

// retry says that the index of a property could not be opened.
func (l *loading) retry() {
	select {
	case l.failed <- struct{}{}:
	default:
	}
}

// unavailable is the ErrUnavailable that reports the progress.
func (l *loading) unavailable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == 0 {
		return fmt.Errorf("%w: the index is being opened", library.ErrUnavailable)
	}
	return fmt.Errorf("%w: the index is being rebuilt: %d of %d items", library.ErrUnavailable, l.items, l.of)
}

// attempt is one attempt to open a failed index while everything else is served.
type attempt struct {
	ctx    context.Context
	cancel context.CancelFunc
	// ended is closed when the index is open or has failed; opened is its property, nil when it failed.
	ended  chan struct{}
	opened *property
}

// load opens all indexes and publishes them, and then retries those that failed, until l is canceled.
func (f *follower) load(l *loading) {
	defer close(l.ended)
	l.err = f.openAll(l)
	close(l.done)
	for l.err == nil {
		select {
		case <-l.ctx.Done():
			return
		case <-l.failed:
		}
		for failed := f.failures(); len(failed) > 0; failed = f.failures() {
			timer := time.NewTimer(f.options.retryAfter)
			select {
			case <-l.ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			for _, id := range slices.Sorted(maps.Keys(failed)) {
				f.openAgain(l, id)
			}
		}
	}
}

// openAll opens the index of every stored property. One that fails does not affect the others. The error is that of a
// canceled context.
func (f *follower) openAll(l *loading) error {
	if err := f.removeGone(); err != nil {
		f.options.Logger.Warn("remove indexes of purged properties", slog.Any("error", err))
	}
	properties, failed := map[library.PropertyID]*property{}, map[library.PropertyID]error{}
	for _, id := range f.store.Stored() {
		p, err := f.open(l.ctx, id, l.replayed)
		if l.ctx.Err() != nil {
			if err == nil {
				p.end().Abandon()
			}
			for _, opened := range properties {
				opened.end().Abandon()
			}
			return l.ctx.Err()
		}
		if err != nil {
			f.logFailure(id, err)
			failed[id] = err
			l.retry()
			continue
		}
		p.catalogue, p.version = f.store.Catalogue(id), f.store.PropertyVersion(id)
		properties[id] = p
	}
	f.mu.Lock()
	before := f.properties
	for id := range failed {
		if p := before[id]; p != nil {
			properties[id] = p // what it showed before can still be read
			delete(before, id)
		}
	}
	f.properties, f.failed, f.loaded = properties, failed, true
	f.mu.Unlock()
	for _, p := range before {
		p.end()
	}
	return nil
}

func (f *follower) logFailure(id library.PropertyID, err error) {
	f.options.Logger.Error("the index of a property cannot be opened: the property answers 503 until it can; retrying",
		slog.String("property", string(id)), slog.Any("error", err), slog.Duration("after", f.options.retryAfter))
}

// openAgain opens a failed index. The store goes on committing meanwhile, but nothing that changes an item of the property; it is
// held only while the property is published.
func (f *follower) openAgain(l *loading, id library.PropertyID) {
	a := &attempt{ended: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancel(l.ctx)
	defer a.cancel()
	f.mu.Lock()
	if f.failed[id] == nil || a.ctx.Err() != nil {
		f.mu.Unlock()
		return
	}
	f.attempt = a
	f.mu.Unlock()
	p, err := f.open(a.ctx, id, nil)
	if err == nil {
		a.opened = p
	}
	close(a.ended)
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.attempt == a {
			f.attempt, f.failed[id] = nil, err
			f.logFailure(id, err)
		}
		return
	}
	_ = f.store.Hold(func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.attempt != a {
			return nil // it was given up
		}
		f.attempt = nil
		p.catalogue, p.version = f.store.Catalogue(id), f.store.PropertyVersion(id)
		if before := f.properties[id]; before != nil {
			before.end()
		}
		f.properties[id] = p
		delete(f.failed, id)
		f.options.Logger.Info("the index of a property is open: the property is served again", slog.String("property", string(id)))
		return nil
	})
}

// giveUp ends the attempt to open a failed index, if there is one, and abandons what it opened. The caller holds the store, or
// there are no more writes.
func (f *follower) giveUp() {
	f.mu.Lock()
	a := f.attempt
	f.attempt = nil
	f.mu.Unlock()
	if a == nil {
		return
	}
	a.cancel()
	<-a.ended
	if a.opened != nil {
		a.opened.end().Abandon()
	}
}

// stopLoading ends the opening of indexes. It does not wait for load to return, which may be waiting for the store.
func (f *follower) stopLoading() {
	if f.loading == nil {
		return
	}
	f.loading.cancel()
	<-f.loading.done
	f.giveUp()
}

// failures returns the properties whose index cannot be opened, and why.
func (f *follower) failures() map[library.PropertyID]error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return maps.Clone(f.failed)
}

// failure returns why the index of a property cannot be opened; nil when it is open, or the property is not there.
func (f *follower) failure(id library.PropertyID) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.failed[id]
}

// forgetFailed stops opening the indexes of purged properties: an attempt in progress would bring their keys back. The caller holds
// the store.
func (f *follower) forgetFailed(purged []library.PropertyID) {
	f.mu.Lock()
	for _, id := range purged {
		delete(f.failed, id)
	}
	f.mu.Unlock()
	f.giveUp()
}

// refused returns why a property can neither be read nor written now; nil when it can, or is not there.
func (f *follower) refused(id library.PropertyID) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if !f.loaded {
		return f.loading.unavailable()
	}
	if err := f.failed[id]; err != nil {
		return unindexed(id, err)
	}
	return nil
}

// unindexed is the ErrUnavailable of a property whose index cannot be opened.
func unindexed(id library.PropertyID, cause error) error {
	return fmt.Errorf("%w: the index of property %s cannot be opened: %w", library.ErrUnavailable, id, cause)
}
