package opensearch

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestPartitionedReplica checks that a replica that cannot reach the cluster accepts no token, because another replica may have revoked
// the token. When the replica reaches the cluster again, it must learn of the revocation before it accepts tokens.
func TestPartitionedReplica(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	proxy := nodetest.NewProxy(t, nodetest.URLs(t)[0])
	r := []*Library{open(t, dir, time.Now), openOptions(t, dir, func(o *Options) { o.URLs = []string{proxy.URL} })}
	for _, l := range r {
		defer l.Close()
	}
	apply(t, r[0], agreedDefinitions()[0], accessToken(1))
	tokens := func(l *Library) int { return len(l.records.Now().Set.Tokens()) }
	eventually(t, "the replica knows the token", func() bool { return tokens(r[1]) == 1 })
	for _, fault := range []nodetest.Fault{nodetest.Closed, nodetest.Silent, nodetest.Trickling} {
		proxy.Inject(fault)
		apply(t, r[0], accessToken(2))
		if _, err := r[0].Remove(t.Context(), []library.Owner{accessToken().Owner}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the replica relies on no token", func() bool { return errors.Is(r[1].Current(t.Context()), library.ErrUnavailable) })
		if err := r[0].Current(t.Context()); err != nil {
			t.Errorf("fault %d: the other replica: %v", fault, err)
		}
		if tokens(r[1]) != 1 {
			t.Fatal("the replica follows the definitions: the proxy does not work")
		}
		proxy.Inject(nodetest.None)
		eventually(t, "the replica is current again", func() bool { return r[1].Current(t.Context()) == nil })
		if n := tokens(r[1]); n != 0 {
			t.Errorf("fault %d: the replica is current and knows %d tokens, want none", fault, n)
		}
		apply(t, r[0], accessToken(1))
		eventually(t, "the replica knows the token again", func() bool { return tokens(r[1]) == 1 })
	}
}

// TestFaults checks calls while the only node is unreachable, silent or too slow. Calls must fail with ErrUnavailable, and State must
// give the reason. No goroutine may remain, no acknowledged write may be lost, and the library must recover by itself.
func TestFaults(t *testing.T) {
	proxy := nodetest.NewProxy(t, nodetest.URLs(t)[0])
	transport := http.DefaultTransport.(*http.Transport).Clone()
	l := openOptions(t, t.TempDir(), func(o *Options) { o.URLs, o.Timeout, o.Transport = []string{proxy.URL}, 4*time.Second, transport })
	defer l.Close()
	apply(t, l, agreedDefinitions()[0])
	acknowledged := int64(0)
	write := func(ctx context.Context) error {
		outcomes, err := l.Write(ctx, shop, []library.Mutation{{Put: image(0, "")}})
		if err == nil {
			err = outcomes[0].Err
		}
		return err
	}
	read := func(ctx context.Context) (int64, error) {
		p, err := l.Read(ctx, library.Read{Property: shop, Query: query.All{}, Limit: 1})
		if err != nil {
			return 0, err
		}
		return p.Total, nil
	}
	for name, fault := range map[string]nodetest.Fault{"closed": nodetest.Closed, "silent": nodetest.Silent, "trickling": nodetest.Trickling} {
		if err := write(t.Context()); err != nil {
			t.Fatal(err)
		}
		acknowledged++
		before := runtime.NumGoroutine()
		proxy.Inject(fault)
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				for what, call := range map[string]func(context.Context) error{
					"a write": write, "a read": func(ctx context.Context) error { _, err := read(ctx); return err }, "Current": l.Current,
				} {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					err := call(ctx)
					// Current succeeds until the definitions are too old.
					if !errors.Is(err, library.ErrUnavailable) && (err != nil || what != "Current") {
						t.Errorf("%s, %s: %v, want ErrUnavailable", name, what, err)
					}
					cancel()
				}
			})
		}
		calls.Wait()
		if s := l.State(t.Context()); s.Ready || s.Problem == "" || !strings.Contains(s.Problem, "OpenSearch cannot be reached") {
			t.Errorf("%s: state %+v, want the reason", name, s)
		}
		proxy.Inject(nodetest.None)
		eventually(t, "the library is ready", func() bool { s := l.State(t.Context()); return s.Ready && s.Problem == "" })
		if total, err := read(t.Context()); err != nil || total < acknowledged {
			t.Errorf("%s: %d items, %v, want at least %d", name, total, err, acknowledged)
		} else {
			acknowledged = total // the cluster may still have stored a rejected write
		}
		eventually(t, "the goroutines of the calls end", func() bool {
			transport.CloseIdleConnections()
			return runtime.NumGoroutine() <= before+20
		})
	}
}
