package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/engine/index"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// loading opens the indexes of all properties, and retries those that failed.
type loading struct {
	ctx    context.Context
	cancel context.CancelFunc
	// done is closed when each index is open or has failed once. ended is closed when load returns.
	done, ended chan struct{}
	// holding carries functions that must run while the store is held. The caller of Load holds the store, so wait, which Load calls, runs
	// these functions. When wait returns, it closes returned, and from then on, hold holds the store itself.
	holding  chan func()
	returned chan struct{}
	// failed holds a signal if the index of a property could not be opened.
	failed chan struct{}

	mu        sync.Mutex
	items, of int
}

func newLoading() *loading {
	l := &loading{
		done: make(chan struct{}), ended: make(chan struct{}), holding: make(chan func()), returned: make(chan struct{}),
		failed: make(chan struct{}, 1),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// replayed records the progress of a rebuild: the number of items indexed so far, and the total.
func (l *loading) replayed(items, of int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items, l.of = items, of
}

// retry signals to load that the index of a property could not be opened.
func (l *loading) retry() {
	select {
	case l.failed <- struct{}{}:
	default:
	}
}

// hold calls `do` while the store is held, so that no batch is prepared, committed or installed during the call.
func (l *loading) hold(s *store.Store, do func() error) (err error) {
	held := make(chan struct{})
	select {
	case l.holding <- func() { err = do(); close(held) }:
		<-held
		return err
	case <-l.returned:
		return s.Hold(do)
	}
}

// wait runs the functions from holding until done is closed or the duration `patience` has passed. It reports whether done was closed. The
// caller holds the store.
func (l *loading) wait(patience time.Duration) (loaded bool) {
	defer close(l.returned)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case do := <-l.holding:
			do()
		case <-l.done:
			return true
		case <-timer.C:
			return false
		}
	}
}

// opening is the error for a property whose index is not open yet and has not failed.
type opening struct{ *loading }

// Error describes the progress of opening the index.
func (o opening) Error() string {
	if progress := o.progress(); progress != "" {
		return "the index is being rebuilt: " + progress
	}
	return "the index is being opened"
}

// progress describes the progress of a rebuild. It returns "" if there is no rebuild.
func (o opening) progress() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d items", o.items, o.of)
}

// attempt is one attempt to open an index while other properties are served.
type attempt struct {
	ctx    context.Context
	cancel context.CancelFunc
	// ended is closed when the index is open or has failed. After that, opened is the property, or nil if the index failed.
	ended  chan struct{}
	opened *property
}

// load opens all indexes, and then retries the failed ones until l is canceled. It first opens the indexes that need no rebuild, so that a
// rebuild does not delay other properties.
func (f *follower) load(l *loading) {
	defer close(l.ended)
	if err := f.removeGone(l); err != nil {
		f.options.Logger.Warn("cannot remove indexes of purged properties", slog.Any("error", err))
	}
	sound := true
	for pending := f.failures(true); len(pending) > 0 && l.ctx.Err() == nil; pending = f.failures(true) {
		for _, id := range slices.Sorted(maps.Keys(pending)) {
			f.openOne(l, id, sound)
		}
		sound = false
	}
	close(l.done)
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-l.failed:
		}
		for failed := f.failures(false); len(failed) > 0; failed = f.failures(false) {
			timer := time.NewTimer(f.options.retryAfter)
			select {
			case <-l.ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			for _, id := range slices.Sorted(maps.Keys(failed)) {
				f.openOne(l, id, false)
			}
		}
	}
}

func (f *follower) logFailure(id library.PropertyID, err error) {
	f.options.Logger.Error("cannot open the index of a property, will retry; requests for the property get 503 until it opens",
		slog.String("property", string(id)), slog.Any("error", err), slog.Duration("after", f.options.retryAfter))
}

// openOne opens the index of a property whose index is not open. If sound is true, it does so only if the index needs no rebuild.
// During openOne, the store can commit batches, except those that change items of the property. openOne holds the store only while it
// publishes the property.
func (f *follower) openOne(l *loading, id library.PropertyID, sound bool) {
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
	p, err := f.open(a.ctx, id, func(o *index.Options) { o.Sound, o.OnReplay = sound, l.replayed })
	if err == nil {
		a.opened = p
	}
	close(a.ended)
	_ = l.hold(f.store, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.attempt != a {
			return nil // giveUp canceled the attempt
		}
		f.attempt = nil
		if err == nil {
			if err = f.complete(p); err != nil {
				p.end().Abandon()
			}
		}
		switch {
		case err == nil:
			f.serve(p)
		case !errors.Is(err, index.ErrRebuild):
			f.failed[id] = err
			f.logFailure(id, err)
			l.retry()
		}
		return nil
	})
}

// complete returns an error if the index does not have as many items as the store counts. In this case, the store has lost items. The
// caller holds the store.
func (f *follower) complete(p *property) error {
	s := p.index.Stats()
	if found, counted := s.Docs-s.Dead, f.store.Count(p.id); found != counted {
		return fmt.Errorf("the store counts %d items, but contains %d: restore the newest backup", counted, found)
	}
	return nil
}

// serve publishes a property after its index was opened. The caller holds mu and the store.
func (f *follower) serve(p *property) {
	p.catalogue, p.version = f.store.Catalogue(p.id), f.store.PropertyVersion(p.id)
	if before := f.properties[p.id]; before != nil {
		before.end()
	}
	if !errors.As(f.failed[p.id], &opening{}) {
		f.options.Logger.Info("opened the index of a property; the property is served again", slog.String("property", string(p.id)))
	}
	f.properties[p.id] = p
	delete(f.failed, p.id)
}

// giveUp cancels the current attempt to open an index, if there is one. If the attempt has already opened the index, giveUp abandons the
// index. The caller must hold the store, unless there are no further writes.
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

// stopLoading stops opening indexes. It does not wait for load to return, because load may be waiting for the store.
func (f *follower) stopLoading() {
	if f.loading != nil {
		f.loading.cancel()
		f.giveUp()
	}
}

// failures returns the properties whose index failed to open, with the errors. If pending is true, it instead returns the properties whose
// index is not open yet and has not failed.
func (f *follower) failures(pending bool) map[library.PropertyID]error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	failed := maps.Clone(f.failed)
	maps.DeleteFunc(failed, func(_ library.PropertyID, err error) bool { return errors.As(err, &opening{}) != pending })
	return failed
}

// failure returns an ErrUnavailable for a property whose index is not open. Items of such a property cannot be written, and they can be
// read only from an earlier snapshot. failure returns nil if the index is open or if the property does not exist.
func (f *follower) failure(id library.PropertyID) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return unindexed(id, f.failed[id])
}

// forgetFailed stops attempts to open the indexes of purged properties. An attempt in progress would otherwise write the keys of the
// index again. The caller holds the store.
func (f *follower) forgetFailed(purged []library.PropertyID) {
	f.mu.Lock()
	for _, id := range purged {
		delete(f.failed, id)
	}
	f.mu.Unlock()
	f.giveUp()
}

// unindexed returns an ErrUnavailable with the cause, for a property whose index is not open. It returns nil if cause is nil.
func unindexed(id library.PropertyID, cause error) error {
	switch {
	case cause == nil:
		return nil
	case errors.As(cause, &opening{}):
		return fmt.Errorf("%w: %w", library.ErrUnavailable, cause)
	}
	return fmt.Errorf("%w: the index of property %s cannot be opened: %w", library.ErrUnavailable, id, cause)
}
