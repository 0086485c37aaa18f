package controllers

import (
	"context"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

// changing is a library whose content changes all the time.
type changing struct {
	library.Library
	asked uint64
	ticks chan struct{}
}

func (l *changing) State(ctx context.Context) library.State {
	s := l.Library.State(ctx)
	l.asked++
	s.Version = l.asked
	select {
	case l.ticks <- struct{}{}:
	default:
	}
	return s
}

// TestCountingRests holds that listing the objects counts as work: after a look that took a second, the next one is due
// countShare seconds later, however often content changes.
func TestCountingRests(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	now := start
	advance := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	looks := make(chan struct{}, 100)
	r, _ := newReconciler(t, filterKind(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, ok := list.(*v1alpha1.ContentFilterList); ok {
				advance(time.Second)
				looks <- struct{}{}
			}
			return c.List(ctx, list, options...)
		},
	})
	lib := &changing{Library: r.Library, ticks: make(chan struct{})}
	r.Library, r.CountInterval = lib, time.Millisecond
	r.now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	ended := make(chan error, 1)
	go func() { ended <- r.keepCounts(ctx) }()
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
	advance((countShare - 1) * time.Second)
	ticks()
	if len(looks) > 0 {
		t.Error("looked again while it should rest")
	}
	advance(time.Second)
	<-looks
}
