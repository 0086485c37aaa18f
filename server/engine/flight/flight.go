// Package flight lets many callers share work that one of them does, while each caller waits only as long as its own context
// allows.
//
// A caller that gives up leaves the work to the others: none of them gets its error, and the next one does the work itself.
//
// It may import nothing.
package flight

import (
	"context"
	"sync"
	"sync/atomic"
)

// Mutex is a mutual exclusion lock that a caller waits for under a context. The zero Mutex is unlocked. A Mutex must not be
// copied after first use.
type Mutex struct {
	once sync.Once
	held chan struct{}
}

// Lock locks m. It waits until m is free or ctx ends. The error is the cause of ctx; m is then not locked by this call. A free
// Mutex is locked even when ctx has already ended.
func (m *Mutex) Lock(ctx context.Context) error {
	m.once.Do(func() { m.held = make(chan struct{}, 1) })
	select {
	case m.held <- struct{}{}:
		return nil
	default:
	}
	select {
	case m.held <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Unlock unlocks m, which must be locked.
func (m *Mutex) Unlock() { <-m.held }

// Value is a value that is computed once, when it is first needed. The zero Value holds nothing yet. A Value must not be copied
// after first use.
type Value[T any] struct {
	mu   Mutex
	made atomic.Pointer[T]
}

// Get returns the value. The first caller computes it with build, under its own context, while the others wait for it under
// theirs. When build fails, its caller alone gets the error, and the next caller computes the value. Any other error is the
// cause of ctx.
func (v *Value[T]) Get(ctx context.Context, build func() (T, error)) (T, error) {
	if made := v.made.Load(); made != nil {
		return *made, nil
	}
	if err := v.mu.Lock(ctx); err != nil {
		var zero T
		return zero, err
	}
	defer v.mu.Unlock()
	if made := v.made.Load(); made != nil {
		return *made, nil
	}
	fresh, err := build()
	if err == nil {
		v.made.Store(&fresh)
	}
	return fresh, err
}
