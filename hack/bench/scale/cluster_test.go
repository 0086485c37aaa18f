package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestEach(t *testing.T) {
	var sum atomic.Int64
	if err := each(t.Context(), 100, 8, func(_ context.Context, i int) error { sum.Add(int64(i)); return nil }); err != nil || sum.Load() != 4950 {
		t.Errorf("sum %d, %v; want 4950", sum.Load(), err)
	}
	broken := errors.New("broken")
	err := each(t.Context(), 100, 8, func(_ context.Context, i int) error {
		if i == 10 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}
