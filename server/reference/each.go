package reference

import (
	"runtime"
	"sync"
)

// eachFrom is the number of elements from which each uses more than one goroutine.
const eachFrom = 256

// each calls do once for each element, on all processors where there are many. The calls must not depend on one
// another.
func each[E any](elements []E, do func(E)) {
	workers := runtime.GOMAXPROCS(0)
	if len(elements) < eachFrom || workers == 1 {
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
