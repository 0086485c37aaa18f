package webhooks

import (
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/engine"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

func newEngineWorld(t testing.TB) *world {
	t.Helper()
	lib, err := engine.Open(engine.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return newWorldOf(t, lib)
}

// TestBacklog checks that 100,000 changes that happen while a receiver is down are delivered in order when it is up again, that the server
// does not hold them in memory, and that another webhook gets them meanwhile.
func TestBacklog(t *testing.T) {
	const changes, batch, most = 100_000, 500, 32 << 20
	w, down, up := newEngineWorld(t), receive(t), receive(t)
	ids := func(h *library.Webhook) { h.Items, h.MaxItems = false, batch }
	w.serve("down", down.URL, ids)
	w.serve("up", up.URL, ids)
	down.expect("reset")
	up.expect("reset")
	// While down is closed, connections fail, as with a machine that is off.
	address := down.Listener.Addr().String()
	down.Close()
	for id := item.ID(1); id <= changes; {
		var muts []library.Mutation
		for range batch {
			muts = append(muts, put(id, item.Pending, "", ""))
			id++
		}
		w.write(muts...)
	}
	w.inOrder(up, changes, func() {})
	w.await("down", Failed)
	before := heap()
	down.reopen(address)
	peak, deliveries := before, 0
	w.inOrder(down, changes, func() {
		if deliveries++; deliveries%20 == 0 {
			peak = max(peak, heap())
		}
	})
	w.await("down", Delivered)
	if peak > before+most {
		t.Errorf("the heap grew by %d bytes, want at most %d", peak-before, most)
	}
}

// inOrder expects that the items 1 to n enter, in the order of their ids, in which they were written. It calls each after each delivery.
func (w *world) inOrder(r *receiver, n item.ID, each func()) {
	w.t.Helper()
	for next := item.ID(1); next <= n; each() {
		d := r.next()
		if d.body.Type != typeChanged {
			w.t.Fatalf("after the item %d: %s", next-1, d.text)
		}
		for _, c := range d.body.Data.Changes {
			if c.ID != next || c.Event != eventEntered {
				w.t.Fatalf("%d %s, want %d %s", c.ID, c.Event, next, eventEntered)
			}
			next++
		}
	}
}

// reopen starts a closed receiver again.
func (r *receiver) reopen(address string) {
	r.t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		r.t.Fatal(err)
	}
	r.Server = &httptest.Server{Listener: l, Config: &http.Server{Handler: r.Config.Handler}}
	r.Start()
	r.t.Cleanup(r.Close)
}

// heap returns the number of bytes in use after a garbage collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkDelay measures the time from the acknowledgement of a write to its delivery, at 100 writes a second.
func BenchmarkDelay(b *testing.B) {
	w, r := newEngineWorld(b), receive(b)
	w.serve("index", r.URL, func(h *library.Webhook) { h.MaxItems, h.MaxDelay = 100, time.Second }) // the defaults of a manifest
	r.expect("reset")
	const writes = 1000
	id := item.ID(0)
	written := make(chan time.Time, writes)
	for b.Loop() {
		go func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for range writes {
				<-tick.C
				id++
				w.write(put(id, item.Pending, "beach", ""))
				written <- time.Now()
			}
		}()
		var delays []time.Duration
		for len(delays) < writes {
			d := r.next()
			now := time.Now()
			for range d.body.Data.Changes {
				delays = append(delays, max(0, now.Sub(<-written)))
			}
		}
		slices.Sort(delays)
		b.ReportMetric(float64(delays[writes/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(delays[writes*99/100].Microseconds())/1000, "p99-ms")
	}
}
