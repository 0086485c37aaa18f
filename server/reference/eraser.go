package reference

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// eraser has the bytes of deleted items leave the files of the store within a stated time: a delete in an LSM tree only
// hides them until their tables happen to be rewritten.
type eraser struct {
	l *Library
	// wake holds one signal at most: something was deleted.
	wake chan struct{}
	// quit ends run and the work under way; run then closes done.
	ctx  context.Context
	quit context.CancelFunc
	done chan struct{}
}

func newEraser(l *Library) *eraser {
	e := &eraser{l: l, wake: make(chan struct{}, 1), done: make(chan struct{})}
	e.ctx, e.quit = context.WithCancel(context.Background())
	return e
}

// wanted says that something was deleted.
func (e *eraser) wanted() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// run erases once for all that is deleted within half of the stated time, which leaves the other half for the work.
func (e *eraser) run() {
	defer close(e.done)
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-e.wake:
		}
		timer := time.NewTimer(e.l.options.EraseWithin / 2)
		select {
		case <-e.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if err := e.erase(); err != nil && e.ctx.Err() == nil {
			e.l.options.Logger.Warn("erase deleted items from the store's files", slog.Any("error", err))
			e.wanted()
		}
	}
}

func (e *eraser) stop() {
	e.quit()
	<-e.done
}

// erase rewrites every table that may hold deleted keys, and the log.
func (e *eraser) erase() error {
	e.l.mu.RLock()
	db := e.l.db
	e.l.mu.RUnlock()
	if err := db.failure(); err != nil {
		return err
	}
	return db.call(func() error {
		if err := db.pebble.Flush(); err != nil {
			return fmt.Errorf("flush: %w", err)
		}
		from, to := []byte{spaceProperty}, []byte{spaceProperty + 1}
		if err := db.pebble.Compact(e.ctx, from, to, false); err != nil {
			return fmt.Errorf("compact: %w", err)
		}
		return nil
	})
}
