package index

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// retryAfter is the delay before a failed task is retried.
const retryAfter = 2 * time.Second

// task is background work that runs when it is woken. At most one run is in progress.
type task struct {
	// wanted holds a signal if the task was woken. free holds a signal unless the task runs.
	wanted, free chan struct{}

	mu      sync.Mutex
	problem error
}

func newTask() *task {
	t := &task{wanted: make(chan struct{}, 1), free: make(chan struct{}, 1)}
	t.free <- struct{}{}
	return t
}

// wake wakes the task, because there may be work.
func (t *task) wake() {
	select {
	case t.wanted <- struct{}{}:
	default:
	}
}

// with waits until the task is not running, and then calls `do`. The task does not run during the call.
func (t *task) with(ctx context.Context, do func() error) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.free:
	}
	defer func() { t.free <- struct{}{} }()
	return do()
}

// failing returns the error of the last run, or nil if the run succeeded.
func (t *task) failing() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.problem
}

func (t *task) setProblem(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problem = err
}

// run calls step whenever the task is woken, until step reports that no work is left. After an error, it waits and tries again. It
// returns when the index ends.
func (x *Index) run(t *task, step func(context.Context) (more bool, err error)) {
	all := func() error {
		for {
			if more, err := step(x.ctx); err != nil || !more {
				return err
			}
			if err := x.ctx.Err(); err != nil {
				return err
			}
		}
	}
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-t.wanted:
		}
		err := t.with(x.ctx, all)
		if x.ctx.Err() != nil {
			return
		}
		t.setProblem(err)
		if err == nil {
			continue
		}
		x.o.Logger.Warn("the segments of the index cannot be merged or sealed; retrying", slog.Any("error", err))
		if !x.pause(retryAfter) {
			return
		}
		t.wake()
	}
}

// pause waits for d. It returns false if the index ends first.
func (x *Index) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-x.ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
