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
		t.Error("it is on before anything came")
	}
	<-over
	began := time.Now()
	for range 10 {
		b.came(1000, 1000) // each is SealDocs documents: together a burst of 16 seconds
	}
	if !b.on() && time.Since(began) < burstLasts {
		t.Error("it is not on while much comes")
	}
	<-over
	if took := time.Since(began); b.on() || took < burstLasts {
		t.Errorf("it was over after %s, and on is %t", took, b.on())
	}
	b.came(1, 1<<40)
	<-over
	if b.on() {
		t.Error("a single document is a burst")
	}
}
