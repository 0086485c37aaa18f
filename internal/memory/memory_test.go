package memory

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/vitrine-dev/vitrine/server/library"
)

func TestLimit(t *testing.T) {
	container := func(n uint64, err error) func() (uint64, error) { return func() (uint64, error) { return n, err } }
	tests := map[string]struct {
		flag      string
		container func() (uint64, error)
		want      int64
		fails     bool
	}{
		"flag":                       {flag: "512Mi", container: container(1<<30, nil), want: 512 << 20},
		"container":                  {container: container(1<<30, nil), want: 858993459},
		"no limit":                   {container: container(0, memlimit.ErrNoLimit)},
		"no control group":           {container: container(0, memlimit.ErrNoCgroup)},
		"version 1, no limit":        {container: container(9223372036854771712, nil)},
		"unreadable":                 {container: container(0, errors.New("permission denied")), fails: true},
		"too small":                  {flag: "1Mi", container: container(0, memlimit.ErrNoLimit), fails: true},
		"not a quantity":             {flag: "much", container: container(0, memlimit.ErrNoLimit), fails: true},
		"flag, unreadable container": {flag: "64Mi", container: container(0, errors.New("permission denied")), want: 64 << 20},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := limit(tc.flag, tc.container)
			if (err != nil) != tc.fails || got != tc.want {
				t.Errorf("limit %d, %v; want %d", got, err, tc.want)
			}
		})
	}
}

func TestLimitOfTheEnvironment(t *testing.T) {
	before := debug.SetMemoryLimit(300 << 20)
	defer debug.SetMemoryLimit(before)
	got, err := limit("", func() (uint64, error) { return 1 << 30, nil })
	if err != nil || got != 300<<20 {
		t.Errorf("limit %d, %v; want what GOMEMLIMIT set", got, err)
	}
}

func TestPressure(t *testing.T) {
	now := library.Relaxed
	for i, step := range []struct {
		share float64
		want  library.Pressure
	}{
		{0.1, library.Relaxed}, {0.74, library.Relaxed}, {0.76, library.Tight}, {0.70, library.Tight}, {0.60, library.Relaxed},
		{0.95, library.Full}, {0.85, library.Full}, {0.80, library.Tight}, {0.89, library.Tight}, {0.91, library.Full},
		{0.5, library.Relaxed}, {1.2, library.Full}, {0.66, library.Tight}, {0.64, library.Relaxed},
	} {
		if now = next(now, step.share); now != step.want {
			t.Fatalf("step %d, %.2f of the limit: %s, want %s", i, step.share, now, step.want)
		}
	}
}

// TestRun checks that the pressure follows the use, and that Run starts a collection under pressure if none happens by itself.
func TestRun(t *testing.T) {
	var live atomic.Int64
	collected := make(chan struct{}, 100)
	g := &Gauge{
		limit: 1000, log: slog.New(slog.DiscardHandler),
		use: func() Use { return Use{Live: live.Load()} },
		collect: func() {
			live.Store(100)
			collected <- struct{}{}
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- g.Run(ctx) }()
	live.Store(950)
	select {
	case <-collected:
	case <-time.After(20 * time.Second):
		t.Fatal("no collection under pressure")
	}
	deadline := time.After(10 * time.Second)
	for g.Pressure() != library.Relaxed {
		select {
		case <-deadline:
			t.Fatal("the pressure does not fall")
		default:
			runtime.Gosched()
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestPercentage(t *testing.T) {
	for name, c := range map[string]struct {
		heap, limit int64
		crowded     bool
		want        int
	}{
		"empty heap":          {0, 0, false, mostPercentage},
		"small heap":          {80 << 20, 0, false, 300},
		"half the floor":      {160 << 20, 0, false, 100},
		"large heap":          {1 << 30, 0, false, 100},
		"under a limit":       {32 << 20, 512 << 20, false, 300},
		"under a small limit": {32 << 20, 128 << 20, false, 100},
		"small and crowded":   {64 << 20, 512 << 20, true, 100},
		"large and crowded":   {256 << 20, 1 << 30, true, crowdedPercentage},
	} {
		if got := percentage(c.heap, c.limit, c.crowded); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestPace checks that Run sets GOGC only after a collection, and only if the new value differs enough from the old one.
func TestPace(t *testing.T) {
	var collections atomic.Uint64
	collections.Store(1)
	told := make(chan int, 100)
	g := &Gauge{
		log: slog.New(slog.DiscardHandler), collect: func() {}, pace: func(percent int) { told <- percent },
		use: func() Use {
			n := collections.Load()
			return Use{Heap: []int64{0, 80 << 20, 81 << 20, 160 << 20}[n], Collections: n}
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- g.Run(ctx) }()
	if got := <-told; got != 300 {
		t.Errorf("percentage %d, want 300", got)
	}
	collections.Store(2)
	collections.Store(3)
	if got := <-told; got != 100 {
		t.Errorf("percentage %d, want 100", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestUse checks that readUse counts memory that is in use.
func TestUse(t *testing.T) {
	runtime.GC()
	before := readUse()
	kept := make([]byte, 64<<20)
	runtime.GC()
	after := readUse()
	if grown := after.Live - before.Live; grown < 60<<20 || after.Collections <= before.Collections {
		t.Errorf("64 MiB more increase Live by %d, after %d collections", grown, after.Collections-before.Collections)
	}
	runtime.KeepAlive(kept)
}
