package index

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	t.Parallel()
	rest := make(chan struct{}, 8)
	p := newPace(func() { rest <- struct{}{} })
	defer p.rest.Stop()
	if p.burst() {
		t.Error("a burst is in progress before the first write")
	}
	<-rest
	if !p.quiet() {
		t.Error("no quiet period is in progress before the first write")
	}
	began := time.Now()
	for range 10 {
		p.wrote(1000, 1000) // each call records SealDocs documents; without the limit, the burst would last 160 seconds
	}
	if burst, quiet := p.burst(), p.quiet(); (!burst || quiet) && time.Since(began) < quietAfter {
		t.Errorf("after large writes, burst is %t, and quiet is %t", burst, quiet)
	}
	<-rest
	if took := time.Since(began); p.burst() || !p.quiet() || took < quietAfter {
		t.Errorf("the burst ended after %s; burst is %t, and quiet is %t", took, p.burst(), p.quiet())
	}
	began = time.Now()
	p.wrote(1, 1<<30)
	if burst, quiet := p.burst(), p.quiet(); (burst || quiet) && time.Since(began) < quietAfter {
		t.Errorf("after a single document, burst is %t, and quiet is %t", burst, quiet)
	}
	<-rest
	if !p.quiet() {
		t.Error("no quiet period is in progress after a single document")
	}
}
