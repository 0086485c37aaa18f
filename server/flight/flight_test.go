package flight

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
)

func TestValueIsMadeOnce(t *testing.T) {
	var v Value[int]
	calls := 0
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			got, err := v.Get(t.Context(), func() (int, error) { calls++; return 7, nil })
			if got != 7 || err != nil {
				t.Errorf("%d, error %v", got, err)
			}
		})
	}
	wg.Wait()
	if calls != 1 {
		t.Errorf("made %d times", calls)
	}
}

// TestMutexExcludes changes a plain variable from goroutines that often wait for each other.
func TestMutexExcludes(t *testing.T) {
	const callers, times = 8, 1000
	var m Mutex
	var wg sync.WaitGroup
	n := 0
	for range callers {
		wg.Go(func() {
			for range times {
				if err := m.Lock(t.Context()); err != nil {
					t.Error(err)
					return
				}
				before := n
				runtime.Gosched()
				n = before + 1
				m.Unlock()
			}
		})
	}
	wg.Wait()
	if n != callers*times {
		t.Errorf("%d changes, want %d", n, callers*times)
	}
}

// TestWaitEndsWithContext blocks the first caller, which has no deadline. A second caller must stop waiting at its own deadline.
func TestWaitEndsWithContext(t *testing.T) {
	var v Value[int]
	making, release := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		_, err := v.Get(context.Background(), func() (int, error) { close(making); <-release; return 1, nil })
		first <- err
	}()
	<-making
	cause := errors.New("too expensive")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, cause)
	defer cancel()
	if _, err := v.Get(ctx, func() (int, error) { t.Error("made twice"); return 2, nil }); !errors.Is(err, cause) {
		t.Errorf("error %v, want the cause of its context", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if got, err := v.Get(t.Context(), func() (int, error) { return 2, nil }); got != 1 || err != nil {
		t.Errorf("after the build: %d, error %v", got, err)
	}
}

// TestFailureIsNotShared ends the context of the first caller while a second caller waits. The second caller must get the value.
func TestFailureIsNotShared(t *testing.T) {
	var v Value[int]
	making := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := v.Get(ctx, func() (int, error) { close(making); <-ctx.Done(); return 0, ctx.Err() })
		first <- err
	}()
	<-making
	second := make(chan error, 1)
	go func() {
		got, err := v.Get(t.Context(), func() (int, error) { return 2, nil })
		if got != 2 {
			t.Errorf("the second caller got %d", got)
		}
		second <- err
	}()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first caller: %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("the second caller: %v", err)
	}
}

// TestFailuresAndPanics lets many callers wait for builds that fail or panic. Each caller must get the value, or the error or panic of its
// own build.
func TestFailuresAndPanics(t *testing.T) {
	const callers = 32
	var v Value[int]
	var mu sync.Mutex
	runs, panics, failures, values := 0, 0, 0, 0
	failed := errors.New("failed")
	build := func() (int, error) {
		mu.Lock()
		runs++
		run := runs
		mu.Unlock()
		if run > callers/2 {
			return 7, nil
		}
		for waited := false; !waited; { // until another caller waits
			runtime.Gosched()
			v.mu.Lock()
			waited = v.ended != nil
			v.mu.Unlock()
		}
		if run%2 == 0 {
			panic("broken")
		}
		return 0, failed
	}
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			defer func() {
				if recover() != nil {
					mu.Lock()
					defer mu.Unlock()
					panics++
				}
			}()
			got, err := v.Get(t.Context(), build)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, failed):
				failures++
			case got == 7 && err == nil:
				values++
			default:
				t.Errorf("Get returned %d, error %v", got, err)
			}
		})
	}
	wg.Wait()
	if runs != callers/2+1 || panics != callers/4 || failures != callers/4 || values != callers/2 {
		t.Errorf("%d runs, %d panics, %d failures and %d values; want %d, %d, %d and %d",
			runs, panics, failures, values, callers/2+1, callers/4, callers/4, callers/2)
	}
}
