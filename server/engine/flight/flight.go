// Package flight shares the result of work among concurrent callers. One caller does the work. Each of the other callers waits for the
// result until its own context ends.
//
// If the caller that does the work fails, for example because its context ends, the other callers do not get the error. The next waiting
// caller then does the work itself.
//
// The package may import only the standard library.
package flight

import (
	"context"
	"sync"
	"sync/atomic"
)

// Mutex is a mutual exclusion lock. A caller that waits for the lock stops waiting when its context ends. The zero Mutex is unlocked. A
// Mutex must not be copied after first use.
type Mutex struct {
	once sync.Once
	held chan struct{}
}

// Lock locks m. It waits until m is free or ctx ends. If ctx ends first, Lock returns the cause of ctx and does not lock m. Lock locks a
// free Mutex even if ctx has already ended.
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

// Value is a value that is computed once, when it is first needed. The zero Value is not computed yet. A Value must not be copied after
// first use.
type Value[T any] struct {
	mu   Mutex
	made atomic.Pointer[T]
}

// Get returns the value. The first caller computes it with build. Each other caller waits for it until its own context ends. If build
// fails, only the caller that ran build gets the error, and the next caller computes the value. If ctx ends while Get waits, Get returns
// the cause of ctx.
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
