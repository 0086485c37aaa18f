package opensearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query"
)

// onCluster opens a library on a cluster in n replicas.
func onCluster(t *testing.T, c *nodetest.Cluster, n int, o Options) []*Library {
	t.Helper()
	out := make([]*Library, n)
	o.URLs = c.URLs()
	for i := range out {
		var err error
		if out[i], err = Open(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := out[i].Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return out
}

// primary returns the number of the node that has the primary shard of an index.
func primary(t *testing.T, c *nodetest.Cluster, l *Library, alias string) (node int) {
	t.Helper()
	// While the cluster moves the shard, it names two nodes.
	eventually(t, "the primary shard of "+alias+" is on one node", func() bool {
		var shards whatever[[]struct{ Prirep, Node string }]
		if err := l.cluster.Do(t.Context(), http.MethodGet, "/_cat/shards/"+alias+"?format=json&h=prirep,node", nil, &shards); err != nil {
			t.Fatal(err)
		}
		for _, s := range shards.is {
			for i := range c.URLs() {
				if s.Prirep == "p" && s.Node == c.Name(i) {
					node = i
					return true
				}
			}
		}
		return false
	})
	return node
}

// awaitCopies waits until every shard has all of its copies.
func awaitCopies(t *testing.T, l *Library) {
	t.Helper()
	var is cluster.Health
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for is.Status != "green" {
		err := l.cluster.Do(ctx, http.MethodGet, "/_cluster/health", nil, &is)
		if !cluster.Sleep(ctx, time.Second) {
			t.Fatalf("the cluster is %q: %v", is.Status, err)
		}
	}
}

// storm writes the items from first to last through all replicas, in batches and with retries, while readers list items. It calls disturb
// when a third of the items is stored. An item is acknowledged if Write returned no error for it. No acknowledged item may be lost, and a
// call may fail only with library.ErrUnavailable.
func storm(t *testing.T, replicas []*Library, first, last item.ID, disturb func()) {
	t.Helper()
	const batch, writers = 10, 4
	var next atomic.Int64
	next.Store(first)
	var stored, refused atomic.Int64
	var once sync.Once
	writing, readers := errgroup.Group{}, errgroup.Group{}
	ctx, end := context.WithTimeout(t.Context(), 5*time.Minute)
	defer end()
	for w := range writers {
		l := replicas[w%len(replicas)]
		writing.Go(func() error {
			for {
				from := next.Add(batch) - batch
				if from > last {
					return nil
				}
				pending := map[item.ID]bool{}
				for id := from; id < from+batch && id <= last; id++ {
					pending[id] = true
				}
				for len(pending) > 0 {
					if ctx.Err() != nil {
						return fmt.Errorf("items %v are still rejected: %w", pending, ctx.Err())
					}
					var muts []library.Mutation
					for id := range pending {
						muts = append(muts, library.Mutation{Put: image(id, "storm")})
					}
					outcomes, err := l.Write(ctx, shop, muts)
					if err != nil {
						outcomes = make([]library.Outcome, len(muts))
						for i := range outcomes {
							outcomes[i].Err = err
						}
					}
					for i, o := range outcomes {
						switch {
						// the cluster may still have stored a rejected write
						case o.Err == nil, errors.Is(o.Err, library.ErrExists):
							delete(pending, muts[i].Put.ID)
							stored.Add(1)
						case errors.Is(o.Err, library.ErrUnavailable):
							refused.Add(1)
						default:
							return o.Err
						}
					}
				}
				if stored.Load() > (last-first)/3 {
					once.Do(disturb)
				}
			}
		})
	}
	done := make(chan struct{})
	for _, l := range replicas {
		readers.Go(func() error {
			for {
				select {
				case <-done:
					return nil
				default:
				}
				r := library.Read{Property: shop, Query: query.All{}, Order: query.Order{{Field: "id"}}, Limit: 20}
				if _, err := l.Read(ctx, r); err != nil && !errors.Is(err, library.ErrUnavailable) {
					return fmt.Errorf("read: %w", err)
				}
			}
		})
	}
	err := writing.Wait()
	close(done)
	if err := errors.Join(err, readers.Wait()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d items acknowledged, %d rejections", stored.Load(), refused.Load())
	for _, l := range replicas {
		there := exported(t, l)
		for id := first; id <= last; id++ {
			if _, ok := there[id]; !ok {
				t.Errorf("item %d was acknowledged and is lost", id)
			}
		}
	}
}

// TestNodes runs a library on three nodes. It kills the node with the primary shard, and it suspends that node for some time. In both
// cases, no acknowledged write may be lost, and no restart may be necessary.
func TestNodes(t *testing.T) {
	t.Parallel()
	c := nodetest.NewCluster(t, 3, "512m")
	r := onCluster(t, c, 2, Options{})
	apply(t, r[0], agreedDefinitions()[0])
	awaitCopies(t, r[0])

	victim := primary(t, c, r[0], r[0].names.Items(shop))
	storm(t, r, 1, 4_000, func() { c.Kill(victim) })
	apply(t, r[1], accessToken(1))
	c.Restart(victim)
	awaitCopies(t, r[0])

	victim = primary(t, c, r[0], r[0].names.Definitions())
	var resume func()
	storm(t, r, 4_001, 6_000, func() { resume = c.Suspend(victim) })
	apply(t, r[0], accessToken(2))
	resume()
	awaitCopies(t, r[0])
	for _, l := range r {
		if d, err := l.Definition(t.Context(), accessToken().Owner); err != nil || d.Token.Values[0].Digest[0] != 2 {
			t.Errorf("the token: %+v, %v", d.Token, err)
		}
		if s := l.State(t.Context()); !s.Ready || s.Problem != "" || s.Items != 6_000 {
			t.Errorf("state %+v", s)
		}
	}
	t.Run("a shard without a copy", func(t *testing.T) { loseShard(t, c, r) })
	t.Run("a full disk", func(t *testing.T) { fillDisk(t, r) })
}

// loseShard kills the node that has the only copy of the items' shard. Until the node is back, requests must fail with ErrUnavailable.
// After that, all acknowledged items must exist.
func loseShard(t *testing.T, c *nodetest.Cluster, r []*Library) {
	single := object{"index.auto_expand_replicas": false, "index.number_of_replicas": 0}
	if err := r[0].cluster.Do(t.Context(), http.MethodPut, "/"+r[0].names.Items(shop)+"/_settings", single, nil); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, r[0], library.Mutation{Put: image(20_001, "")})
	victim := primary(t, c, r[0], r[0].names.Items(shop))
	c.Kill(victim)
	index := schema.Generation(r[0].names.Items(shop), 1)
	for _, l := range r {
		eventually(t, "the state names the index", func() bool {
			s := l.State(t.Context())
			return s.Ready && s.Troubles[shop] == library.Trouble{Unserved: true, Problem: "no working copy of a shard of " + index}
		})
		// Another node has a copy of the definitions.
		if err := l.Current(t.Context()); err != nil {
			t.Errorf("Current: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, read := l.Read(ctx, library.Read{Property: shop, Query: query.All{}, Limit: 1})
		_, written := l.Write(ctx, shop, []library.Mutation{{Put: image(20_002, ""), Replace: true}})
		cancel()
		for what, err := range map[string]error{"a read": read, "a write": written} {
			if !errors.Is(err, library.ErrUnavailable) {
				t.Errorf("%s: %v, want ErrUnavailable", what, err)
			}
		}
	}
	c.Restart(victim)
	for _, l := range r {
		eventually(t, "the library has no problem", func() bool { s := l.State(t.Context()); return s.Ready && s.Problem == "" && len(s.Troubles) == 0 })
		if _, err := l.ReadItem(t.Context(), library.ItemRead{Property: shop, ID: 20_001}); err != nil {
			t.Errorf("the last acknowledged item: %v", err)
		}
	}
}

// fillDisk sets the flood stage of the cluster above the free space of the disk. Until fillDisk resets the flood stage, writes must fail
// with ErrUnavailable, and reads must succeed.
func fillDisk(t *testing.T, r []*Library) {
	// watermarks sets all watermarks to the given amount of free space.
	watermarks := func(free any) {
		t.Helper()
		const prefix = "cluster.routing.allocation.disk."
		settings := object{"persistent": object{
			prefix + "watermark.low": free, prefix + "watermark.high": free, prefix + "watermark.flood_stage": free,
			prefix + "threshold_enabled": true, "cluster.info.update.interval": "10s",
		}}
		if err := r[0].cluster.Do(t.Context(), http.MethodPut, "/_cluster/settings", settings, nil); err != nil {
			t.Fatal(err)
		}
	}
	watermarks("1000000gb") // more than any disk has
	for _, l := range r {
		eventually(t, "the state says that an index rejects writes", func() bool {
			s := l.State(t.Context())
			return s.Ready && strings.Contains(s.Problem, "rejects writes")
		})
		if _, err := l.Write(t.Context(), shop, []library.Mutation{{Put: image(0, "")}}); !errors.Is(err, library.ErrUnavailable) {
			t.Errorf("a write: %v, want ErrUnavailable", err)
		}
		if _, err := l.Read(t.Context(), library.Read{Property: shop, Query: query.All{}, Limit: 1}); err != nil {
			t.Errorf("a read: %v", err)
		}
	}
	watermarks("1b")
	for _, l := range r {
		eventually(t, "writes succeed", func() bool {
			_, err := l.Write(t.Context(), shop, []library.Mutation{{Put: image(0, "")}})
			return err == nil
		})
	}
}

// TestIsolatedNode checks a replica whose only reachable node is separated from the rest of the cluster. Such a node still answers
// searches, but the replica must not accept any token.
func TestIsolatedNode(t *testing.T) {
	t.Parallel()
	c := nodetest.NewCluster(t, 3, "512m")
	writer := onCluster(t, c, 1, Options{})[0]
	apply(t, writer, agreedDefinitions()[0], accessToken(1))
	everywhere := object{"index.auto_expand_replicas": "0-all"}
	if err := writer.cluster.Do(t.Context(), http.MethodPut, "/"+writer.names.Definitions()+"/_settings", everywhere, nil); err != nil {
		t.Fatal(err)
	}
	awaitCopies(t, writer)
	var manager whatever[[]struct{ Node string }]
	if err := writer.cluster.Do(t.Context(), http.MethodGet, "/_cat/cluster_manager?format=json", nil, &manager); err != nil {
		t.Fatal(err)
	}
	kept := 0
	if c.Name(kept) == manager.is[0].Node {
		kept = 1
	}
	l, err := Open(t.Context(), Options{URLs: []string{c.URLs()[kept]}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Current(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if i != kept {
			defer c.Suspend(i)()
		}
	}
	eventually(t, "the replica relies on no token", func() bool { return errors.Is(l.Current(t.Context()), library.ErrUnavailable) })
	for range 10 {
		if err := l.Current(t.Context()); !errors.Is(err, library.ErrUnavailable) {
			t.Errorf("the replica relies on tokens again: %v", err)
		}
		cluster.Wait(t.Context(), 200*time.Millisecond)
	}
}
