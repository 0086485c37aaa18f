package httpapi

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestBacklogOfASlowLibrary checks that batches contain more lines after a slow write, but not after a fast one.
func TestBacklogOfASlowLibrary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBacklog(false)
		go func() {
			for b.put(bulkLine{}) {
			}
		}()
		take := func(want int) {
			t.Helper()
			synctest.Wait() // wait until the backlog is full
			if got := len(b.take()); got != want {
				t.Errorf("a batch of %d lines, want %d", got, want)
			}
		}
		take(batchLines)
		b.wrote(slowWrite)
		take(batchLines)
		b.wrote(slowWrite + 1)
		take(slowFactor * batchLines)
		b.abandon()

		b = newBacklog(true)
		go func() {
			b.put(bulkLine{})
			<-time.After(gather / 2)
			b.put(bulkLine{})
			<-time.After(gather)
			b.put(bulkLine{})
			b.finish()
		}()
		for _, want := range []int{2, 1, 0} {
			if got := len(b.take()); got != want {
				t.Errorf("a batch of %d lines, want %d", got, want)
			}
		}
	})
}
