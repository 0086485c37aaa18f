package opensearch

import (
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestWaitsAtOnce checks that at most waitsAtOnce calls wait for the definitions. Further calls must fail immediately.
func TestWaitsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := &intercepted{}
		transport.intercept(func(*http.Request) (*http.Response, error) { return nil, errLost })
		l, err := newLibrary(Options{URLs: []string{"http://127.0.0.1:1"}, Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var refused atomic.Int64
		var group sync.WaitGroup
		for range waitsAtOnce + 100 {
			group.Go(func() {
				err := l.Current(t.Context())
				if !errors.Is(err, library.ErrUnavailable) {
					t.Errorf("%v, want ErrUnavailable", err)
				}
				if time.Since(start) == 0 {
					refused.Add(1)
				}
			})
		}
		group.Wait()
		if n, took := refused.Load(), time.Since(start); n != 100 || took != cluster.Reconnect {
			t.Errorf("%d calls were refused at once, the others after %s; want 100 and %s", n, took, cluster.Reconnect)
		}
		if err := l.disconnect(); err != nil {
			t.Error(err)
		}
	})
}

// TestOverload checks that the memory of a replica stays limited while OpenSearch does not respond. Calls beyond the limits must fail
// before any other call ends. The other calls must fail after a limited time, and must leave no goroutine and no memory behind.
func TestOverload(t *testing.T) {
	proxy := nodetest.NewProxy(t, nodetest.URLs(t)[0])
	transport := http.DefaultTransport.(*http.Transport).Clone()
	l := openOptions(t, t.TempDir(), func(o *Options) {
		o.URLs, o.Transport, o.ReadTimeout = []string{proxy.URL}, transport, 10*time.Second
	})
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	mustWrite(t, l, library.Mutation{Put: image(0, "")})
	size := func() (goroutines int, heap int64) {
		transport.CloseIdleConnections()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), int64(m.HeapAlloc)
	}
	goroutines, heap := size()
	const reads, writes, batch = 2 * readsAtOnce, 200, writtenAtOnce / 100
	proxy.Inject(nodetest.Silent)
	var refusedReads, refusedWrites, ended atomic.Int64
	var group sync.WaitGroup
	call := func(what string, refused *atomic.Int64, call func() error) {
		group.Go(func() {
			err := call()
			switch {
			case !errors.Is(err, library.ErrUnavailable):
				t.Errorf("%s: %v, want ErrUnavailable", what, err)
			case !strings.Contains(err.Error(), "the limit"):
				ended.Add(1)
			case ended.Load() == 0:
				refused.Add(1)
			}
		})
	}
	for range reads {
		call("a read", &refusedReads, func() error {
			_, err := l.Read(t.Context(), library.Read{Property: shop, Query: query.All{}, Limit: 1})
			return err
		})
	}
	for range writes {
		call("a write", &refusedWrites, func() error {
			muts := make([]library.Mutation, batch)
			for id := range muts {
				muts[id].Put = image(item.ID(id+1), "")
			}
			_, err := l.Write(t.Context(), shop, muts)
			return err
		})
	}
	group.Wait()
	if n := refusedReads.Load(); n != reads-readsAtOnce {
		t.Errorf("%d reads were refused at once, want %d", n, reads-readsAtOnce)
	}
	if n := refusedWrites.Load(); n != writes-writtenAtOnce/batch {
		t.Errorf("%d writes were refused at once, want %d", n, writes-writtenAtOnce/batch)
	}
	proxy.Inject(nodetest.None)
	eventually(t, "the library is ready", func() bool { return l.State(t.Context()).Ready })
	eventually(t, "the goroutines and the memory of the calls are released", func() bool {
		g, h := size()
		return g <= goroutines+20 && h <= heap+8<<20
	})
}
