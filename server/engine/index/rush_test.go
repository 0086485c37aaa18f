package index

import (
	"testing"
	"time"
)

func TestRush(t *testing.T) {
	t.Parallel()
	over := make(chan struct{}, 8)
	r := newRush(func() { over <- struct{}{} })
	defer r.over.Stop()
	if r.on() {
		t.Error("it is on before anything came")
	}
	<-over
	began := time.Now()
	for range 10 {
		r.came(1000, 1000) // each as much as is sealed, a rush of 16 seconds
	}
	if !r.on() && time.Since(began) < rushLasts {
		t.Error("it is not on while much comes")
	}
	<-over
	if took := time.Since(began); r.on() || took < rushLasts {
		t.Errorf("it was over after %s, and on is %t", took, r.on())
	}
	r.came(1, 1<<40)
	<-over
	if r.on() {
		t.Error("a single document is a rush")
	}
}
