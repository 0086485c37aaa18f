package httpapi

import (
	"testing"
	"testing/synctest"
)

// TestBacklogOfASlowLibrary checks that a batch has more lines after a slow write, and not after a fast one.
func TestBacklogOfASlowLibrary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBacklog()
		go func() {
			for b.put(bulkLine{}) {
			}
		}()
		take := func(want int) {
			t.Helper()
			synctest.Wait() // until the backlog is full
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
	})
}
