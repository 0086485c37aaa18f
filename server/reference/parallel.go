package reference

import (
	"runtime"
	"sync"
)

// parallelFrom is the number of elements from which parallel uses more than one goroutine.
const parallelFrom = 256

// parallel calls do once for each element, on all processors where there are many. The calls must not depend on one
// another.
func parallel[E any](elements []E, do func(E)) {
	workers := runtime.GOMAXPROCS(0)
	if len(elements) < parallelFrom || workers == 1 {
		for _, e := range elements {
			do(e)
		}
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(elements); i += workers {
				do(elements[i])
			}
		})
	}
	wg.Wait()
}
