package store

import (
	"runtime"
	"sync"
)

// parallelFrom is the number of elements from which work is done by more than one goroutine.
const parallelFrom = 64

func workers(n int) int {
	if n < parallelFrom {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// parallel calls do with 0 to n-1, on all processors where there are many. The calls must not depend on one another.
func parallel(n int, do func(i int)) {
	count := workers(n)
	if count == 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var wg sync.WaitGroup
	for w := range count {
		wg.Go(func() {
			for i := w; i < n; i += count {
				do(i)
			}
		})
	}
	wg.Wait()
}
