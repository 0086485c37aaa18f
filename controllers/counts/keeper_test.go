package counts

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

// changing is a library whose content changes all the time.
type changing struct {
	library.Library
	asked uint64
	ticks chan struct{}
}

func (l *changing) State(context.Context) library.State {
	l.asked++
	select {
	case l.ticks <- struct{}{}:
	default:
	}
	return library.State{Version: l.asked}
}

// listing is an implementation of Objects in which listing the objects takes time.
type listing struct{ list func() }

func (l listing) Counted(context.Context, func(v1alpha1.Object, Func)) (bool, error) {
	l.list()
	return true, nil
}
func (listing) WriteCounts(context.Context, v1alpha1.Object, v1alpha1.Object) error { return nil }
func (listing) Reported() uint64                                                    { return 0 }

// TestKeeperRests checks that the keeper counts the time for listing objects as work. After a look that took a second, the next look must
// start restShare seconds later, no matter how often the content changes.
func TestKeeperRests(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	advance := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	looks := make(chan struct{}, 100)
	lib := &changing{ticks: make(chan struct{})}
	k := Keeper{Library: lib, Clock: clock, Stopwatch: clock, Interval: time.Millisecond, Objects: listing{func() {
		advance(time.Second)
		looks <- struct{}{}
	}}}
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	<-looks
	ticks := func() {
		for range 10 {
			<-lib.ticks
		}
	}
	ticks()
	advance((restShare - 1) * time.Second)
	ticks()
	if len(looks) > 0 {
		t.Error("the keeper looked again while it should rest")
	}
	advance(time.Second)
	<-looks
}
