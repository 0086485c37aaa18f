// Package parallel runs independent pieces of work on all processors.
//
// This package imports no other package of this project.
package parallel

import (
	"errors"
	"runtime"
	"sync"
)

// from is the minimum number of elements for which Workers returns more than one goroutine.
const from = 64

// Workers returns the number of goroutines for n elements: 1 for few elements, otherwise one for each processor.
func Workers(n int) int {
	if n < from {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// Run calls do with each number from 0 to n-1, and returns all errors joined. Each call runs in its own goroutine, except for the last
// call, which runs in the caller's goroutine.
func Run(n int, do func(i int) error) error {
	errs := make([]error, n)
	var others sync.WaitGroup
	for i := range n - 1 {
		others.Go(func() { errs[i] = do(i) })
	}
	if n > 0 {
		errs[n-1] = do(n - 1)
	}
	others.Wait()
	return errors.Join(errs...)
}

// Each calls do with each number from 0 to n-1, distributed over Workers(n) goroutines.
func Each(n int, do func(i int)) {
	workers := Workers(n)
	_ = Run(workers, func(worker int) error {
		for i := worker; i < n; i += workers {
			do(i)
		}
		return nil
	})
}
