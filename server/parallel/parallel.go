// Package parallel runs independent pieces of work on all processors.
//
// It imports nothing of this project.
package parallel

import (
	"errors"
	"runtime"
	"sync"
)

// from is the minimum number of elements that are split among goroutines.
const from = 64

// Workers returns how many goroutines should share n elements: 1 for a few, otherwise one for each processor.
func Workers(n int) int {
	if n < from {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// Run calls do with 0 to n-1, each in its own goroutine and the last one in that of the caller, and returns all errors joined.
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

// Each calls do with 0 to n-1, in Workers(n) goroutines.
func Each(n int, do func(i int)) {
	workers := Workers(n)
	_ = Run(workers, func(worker int) error {
		for i := worker; i < n; i += workers {
			do(i)
		}
		return nil
	})
}
