package index

import (
	"testing"
	"time"
)

func TestBurst(t *testing.T) {
	t.Parallel()
	over := make(chan struct{}, 8)
	b := newBurst(func() { over <- struct{}{} })
	defer b.over.Stop()
	if b.on() {
		t.Error("a burst is in progress before the first write")
	}
	<-over
	began := time.Now()
	for range 10 {
		b.came(1000, 1000) // each call records SealDocs documents; without the limit, the burst would last 160 seconds
	}
	if !b.on() && time.Since(began) < burstLasts {
		t.Error("no burst is in progress after large writes")
	}
	<-over
	if took := time.Since(began); b.on() || took < burstLasts {
		t.Errorf("the burst ended after %s, and on is %t", took, b.on())
	}
	b.came(1, 1<<40)
	<-over
	if b.on() {
		t.Error("a single document is a burst")
	}
}
