package parallel_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/vitrine-dev/vitrine/server/parallel"
)

func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 1000} {
		called := make([]atomic.Int64, n)
		parallel.Each(n, func(i int) { called[i].Add(1) })
		for i := range called {
			if times := called[i].Load(); times != 1 {
				t.Errorf("%d elements: %d is done %d times", n, i, times)
			}
		}
	}
}

func TestRun(t *testing.T) {
	started := make([]chan struct{}, 4)
	for i := range started {
		started[i] = make(chan struct{})
	}
	failures := []error{errors.New("first"), nil, nil, errors.New("last")}
	err := parallel.Run(len(started), func(i int) error {
		close(started[i])
		for _, other := range started {
			<-other // no call continues until all calls run, so Run must start them at the same time
		}
		return failures[i]
	})
	if !errors.Is(err, failures[0]) || !errors.Is(err, failures[3]) {
		t.Errorf("error %v", err)
	}
	if err := parallel.Run(0, nil); err != nil {
		t.Errorf("nothing to do: error %v", err)
	}
}
