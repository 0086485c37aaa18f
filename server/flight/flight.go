// Package flight shares the result of work among concurrent callers. One caller does the work. Each of the other callers waits for the
// result until its own context ends.
//
// If the caller that does the work fails, for example because its context ends, the other callers do not get the error. Another caller then
// does the work itself.
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
	made  atomic.Bool
	value T // is set before made, and does not change afterwards

	mu       sync.Mutex
	building bool
	// ended is closed when the current build ends. It is nil until a caller waits for the build.
	ended chan struct{}
}

// Get returns the value. The first caller computes it with build. Each other caller waits for it until its own context ends. If build
// fails, only the caller that ran build gets the error, and another caller computes the value. If ctx ends while Get waits, Get returns
// the cause of ctx.
func (v *Value[T]) Get(ctx context.Context, build func() (T, error)) (T, error) {
	for !v.made.Load() {
		ended, mine := v.begin()
		if mine {
			return v.run(build)
		}
		select {
		case <-ended:
		case <-ctx.Done():
			var zero T
			return zero, context.Cause(ctx)
		}
	}
	return v.value, nil
}

// begin returns true if the caller must call run. Otherwise, it returns a channel that is closed when the current build ends.
func (v *Value[T]) begin() (ended <-chan struct{}, mine bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.building {
		v.building = true
		return nil, true
	}
	if v.ended == nil {
		v.ended = make(chan struct{})
	}
	return v.ended, false
}

// run runs a build, unless another build has computed the value since Get checked.
func (v *Value[T]) run(build func() (T, error)) (T, error) {
	defer func() { // also after a panic
		v.mu.Lock()
		defer v.mu.Unlock()
		v.building = false
		if v.ended != nil {
			close(v.ended)
			v.ended = nil
		}
	}()
	if v.made.Load() {
		return v.value, nil
	}
	fresh, err := build()
	if err == nil {
		v.value = fresh
		v.made.Store(true)
	}
	return fresh, err
}
