package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

var clusterItems = flag.Int("cluster-items", 0, "number of items of BenchmarkCluster; 0 skips this benchmark")

// Numbers of BenchmarkCluster. deepest is the last page that the library on OpenSearch serves by its number.
const (
	clusterNodes = 3
	clusterTags  = 1000
	clusterUnits = 1 << 16
	deepest      = 50_000 / subject.PageSize
)

// clustered is a run of BenchmarkCluster.
type clustered struct {
	*suite
	nodes  *nodetest.Cluster
	prefix string
	on     *subject.Vitrine
}

// BenchmarkCluster measures Vitrine with the library on three OpenSearch nodes. Its series is the number of items.
func BenchmarkCluster(b *testing.B) {
	if *clusterItems == 0 {
		b.Skip("DID NOT RUN: run make cluster")
	}
	*items = *clusterItems
	c := &clustered{suite: begun(b), nodes: nodetest.NewCluster(b, clusterNodes, "1g")}
	c.scale = scaleOf(min(*clusterItems, 200_000))
	c.rounds = 3
	*opensearch = strings.Join(c.nodes.URLs(), ",")
	c.filters = c.corpus.Filters(filters)
	c.prefix = c.openSearch(b).Prefix("cluster")
	defer func() { c.node, c.opened = nil, false }() // the nodes end with the benchmark
	c.on = c.serve(b, subject.NewStoreOn(b, c.node, c.prefix, filepath.Join(c.dir, "store-cluster"), c.filters), c.node.LibraryFlags(c.prefix, nil)...)
	c.turn(b, "import", 0, *clusterItems, func(tb testing.TB) { c.pipe(tb, c.on, 0, *clusterItems) })
	measures(b, "size", c.series(), map[report.Metric]int64{
		report.Items: int64(*clusterItems), report.Disk: c.node.ItemsSize(b, c.prefix), report.Resident: c.on.Memory(b, c.on.Store.Dir).Resident,
	})
	c.reads(b, "", "")
	c.rules(b)
	c.rebuild(b)
	c.loss(b)
	c.on.Stop(b, syscall.SIGTERM)
}

func (c *clustered) series() string { return strconv.Itoa(*clusterItems) }

// turn measures a step that does n things, and the processor time of Vitrine and of all nodes.
func (c *clustered) turn(b *testing.B, workload string, round, n int, do func(testing.TB)) {
	b.Helper()
	turn(b, workload, round, timed(c.series(), c.both(c.on), func(tb testing.TB, _ int) load.Result {
		began := time.Now()
		do(tb)
		return load.Result{Requests: n, Elapsed: time.Since(began)}
	}))
}

// asked measures requests that one client sends one after the other.
func (c *clustered) asked(b *testing.B, workload string, round int, list []load.Request) {
	b.Helper()
	turn(b, workload, round, timed(c.series(), c.both(c.on), func(tb testing.TB, _ int) load.Result {
		return load.Run(tb, 1, list, http.StatusOK, nil)
	}))
}

// someTags is the prefix of 111 of the tags of rules. Facets of all of them exceed the time limit of a query, because each search evaluates the
// rules of the tags that it counts.
const someTags = "bench:b"

// reads measures pages and queries, and facets of the tags that begin with a prefix. after is a part of the names of the workloads.
func (c *clustered) reads(b *testing.B, after, prefix string) {
	b.Helper()
	p := c.plan(b, c.totals(b, c.on))
	for _, round := range p.zipf {
		for i := range round {
			round[i].page = min(round[i].page, deepest)
		}
	}
	hot, zipf := urls(c.on, slices.Repeat(pageLog{{p.hot}}, c.rounds)), urls(c.on, p.zipf)
	booleans, ranked := c.corpus.Booleans(c.rounds*c.booleans), c.corpus.Ranked()
	for round := range c.rounds {
		turn(b, "hot"+after, round, reader(c.series(), c.both(c.on), "", hot))
		turn(b, "zipf"+after, round, reader(c.series(), c.both(c.on), "", zipf))
		var byDate, relevant, facets []load.Request
		for _, q := range booleans[round*c.booleans : (round+1)*c.booleans] {
			byDate, facets = append(byDate, c.on.Items(q, newestFirst)), append(facets, c.on.Facets(prefix, q))
		}
		for _, q := range ranked {
			relevant = append(relevant, c.on.Items(q, ""))
		}
		c.asked(b, "boolean"+after, round, byDate)
		c.asked(b, "facets"+after, round, facets)
		c.asked(b, "ranked"+after, round, relevant)
	}
}

// await waits until a condition holds.
func (c *clustered) await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for timeout := time.After(2 * time.Hour); !holds(); {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-timeout:
			tb.Fatalf("%s: not in two hours", what)
		}
	}
}

// found waits until a query finds items.
func (c *clustered) found(tb testing.TB, q string) {
	tb.Helper()
	c.await(tb, "items of "+q, func() bool {
		resp, err := load.Send(tb.Context(), c.on.Items(q, newestFirst))
		if err != nil || resp.Status != http.StatusOK {
			return false
		}
		total, err := subject.Total(resp.Body)
		return err == nil && total > 0
	})
}

// rules stores tags whose rules are queries, and then units for single items, each until a query finds the last one.
func (c *clustered) rules(b *testing.B) {
	b.Helper()
	var tags []library.TagRule
	for _, q := range c.corpus.Booleans(3 * clusterTags) {
		if !strings.Contains(q, "tags.") && len(tags) < clusterTags { // rules of tags cannot use tags
			tags = append(tags, library.TagRule{Tag: item.Tag{Namespace: "bench", Key: tagKey(len(tags))}, Selector: q})
		}
	}
	tags[len(tags)-1].Selector = "approval_status:app"
	c.turn(b, "tags", 0, len(tags), func(tb testing.TB) {
		c.node.Rules(tb, c.prefix, tags, nil)
		c.found(tb, "tags.bench.key:"+tagKey(len(tags)-1))
	})
	var tagged []load.Request
	for i := range c.booleans {
		tagged = append(tagged, c.on.Items("tags.bench.key:"+tagKey(i), newestFirst))
	}
	c.asked(b, "tagged", 0, tagged)
	units := make([]library.UnitRule, clusterUnits)
	for i := range units {
		units[i] = library.UnitRule{Unit: item.Unit{ID: int64(clusterUnits + i), Name: fmt.Sprintf("unit%d", i)}, Items: []item.ID{item.ID(sample.FirstID + i%*clusterItems)}}
	}
	c.turn(b, "units", 0, len(units), func(tb testing.TB) {
		c.node.Rules(tb, c.prefix, nil, units)
		c.found(tb, fmt.Sprintf("activate_units.name:unit%d", len(units)-1))
	})
	c.reads(b, "-ruled", someTags)
}

// tagKey returns a different key for each number. Keys of tags consist of letters.
func tagKey(n int) string {
	return strings.Map(func(digit rune) rune { return digit - '0' + 'a' }, strconv.Itoa(n))
}

// rebuild measures the rebuild of the index of items, which a server begins two minutes after its start.
func (c *clustered) rebuild(b *testing.B) {
	b.Helper()
	_, old := c.node.Indices(b, c.prefix)
	c.node.Outdate(b, c.prefix)
	c.on.Restart(b, c.binary, syscall.SIGTERM, c.flags(c.node.LibraryFlags(c.prefix, nil)...)...)
	c.await(b, "rebuilding", func() bool { all, _ := c.node.Indices(b, c.prefix); return len(all) == 2 })
	c.turn(b, "rebuild", 0, *clusterItems, func(tb testing.TB) {
		c.await(tb, "rebuilt", func() bool { _, now := c.node.Indices(tb, c.prefix); return now != old })
	})
}

// loss kills the node with the items' primary shard while eight clients request pages and one stores items, and starts it again 20 seconds
// later. It reports the failed requests, and the longest time in which no request succeeded.
func (c *clustered) loss(b *testing.B) {
	b.Helper()
	pages := c.plan(b, c.totals(b, c.on)).first[0]
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	var reads, writes outcome
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			for i := client; ctx.Err() == nil; i++ {
				at := pages[i%len(pages)]
				reads.add(ctx, c.on.Page(at.filter, at.page))
			}
		})
	}
	group.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			writes.add(ctx, c.on.Post(c.corpus.Post(i)))
		}
	})
	wait := func(d time.Duration) { <-time.After(d) }
	wait(10 * time.Second)
	victim := c.node.Primary(b, c.prefix)
	c.nodes.Kill(victim)
	wait(20 * time.Second)
	c.nodes.Restart(victim)
	group.Wait()
	for workload, o := range map[string]*outcome{"loss-reads": &reads, "loss-writes": &writes} {
		measures(b, workload, c.series(), map[report.Metric]int64{"succeeded": o.succeeded, "failed": o.failed, "longest-gap-ms": o.gap.Milliseconds()})
	}
}

// outcome counts requests. It is safe for concurrent use.
type outcome struct {
	mu                sync.Mutex
	succeeded, failed int64
	last              time.Time // of the last response with success
	gap               time.Duration
}

// add sends a request, and counts it unless ctx ends first.
func (o *outcome) add(ctx context.Context, request load.Request) {
	r, err := load.Send(ctx, request)
	if ctx.Err() != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil || r.Status >= http.StatusMultipleChoices {
		o.failed++
		return
	}
	now := time.Now()
	if !o.last.IsZero() {
		o.gap = max(o.gap, now.Sub(o.last))
	}
	o.succeeded, o.last = o.succeeded+1, now
}
