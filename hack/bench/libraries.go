package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/anchor"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

// peer is a search library that the benchmark compares with the engine.
type peer struct {
	name  string
	start func(ctx context.Context, dir string) (*anchor.Library, error)
}

// peerLibraries are all peers.
var peerLibraries = []peer{{report.Lucene, anchor.StartLucene}, {report.Tantivy, anchor.StartTantivy}}

// libraries compares the engine with other search libraries. All of them run in process, without HTTP.
func (b *suite) libraries(ctx context.Context) error { return b.compare(ctx, peerLibraries) }

// compare compares the engine with those of the peers that this machine can run.
func (b *suite) compare(ctx context.Context, peers []peer) error {
	dir := filepath.Join(b.dir, "anchor")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the directory of the libraries: %w", err)
	}
	c := &comparison{suite: b}
	for _, p := range peers {
		b.say("starting %s", p.name) // the first start of a version of Tantivy takes minutes, because it is compiled
		l, err := p.start(ctx, dir)
		if absent, ok := errors.AsType[*anchor.AbsentError](err); ok {
			b.result.Absent[p.name] = absent.Reason
			b.say("the comparison with %s did not run: %s", p.name, absent.Reason)
			continue
		}
		if err != nil {
			return err
		}
		b.stopping = append(b.stopping, l.Child)
		b.result.Versions[p.name] = l.Version
		c.theirs = append(c.theirs, library{p.name, l})
	}
	if len(c.theirs) == 0 {
		return nil
	}
	ours, err := anchor.StartEngine(dir)
	if err != nil {
		return err
	}
	b.stopping = append(b.stopping, ours.Child)
	c.ours = library{report.Engine, ours}
	if err := c.importItems(ctx, filepath.Join(dir, "items.ndjson")); err != nil {
		return err
	}
	if err := c.queries(ctx); err != nil {
		return err
	}
	if err := c.sizes(); err != nil {
		return err
	}
	for _, l := range c.all() {
		err = errors.Join(err, l.Close())
	}
	return err
}

// library is a running library. name is its name in the results.
type library struct {
	name string
	*anchor.Library
}

// comparison contains the libraries of the comparison: the engine (ours) and its peers (theirs), of which there is at least one.
type comparison struct {
	*suite
	ours   library
	theirs []library
}

// all returns all libraries, the engine first.
func (c *comparison) all() []library { return append([]library{c.ours}, c.theirs...) }

// anchorRounds is the number of rounds of the import. Each round imports the same number of items.
const anchorRounds = 10

// importItems imports the items into all libraries in anchorRounds rounds, each from a file. The batches of the engine are always durable.
// In the first half of the rounds, each thread of Lucene and Tantivy commits only once. In the second half, it commits each batch. This
// order prevents the many small segments of the second half from affecting the first half.
func (c *comparison) importItems(ctx context.Context, path string) error {
	chunk, half := c.scale.items/anchorRounds, anchorRounds/2
	for part, of := range []struct {
		id, title string
		batch     int
	}{
		{report.OneCommitImport, "Bulk import in process, Lucene and Tantivy with one commit per thread and round", (chunk + anchor.Writers - 1) / anchor.Writers},
		{report.AnchorImport, "Bulk import in process, each batch durable", anchor.BatchItems},
	} {
		w := c.workload(of.id, of.title, "items", anchor.Writers, half*chunk)
		var into []contender
		for _, l := range c.all() {
			into = append(into, importer(ctx, l.name, l.CPU, func(int) (load.Result, error) { return l.Import(ctx, path, chunk, of.batch) }))
		}
		for round := range half {
			if err := c.writeItems(path, (part*half+round)*chunk, chunk); err != nil {
				return err
			}
			if err := turn(w, round, into...); err != nil {
				return err
			}
		}
		c.tell(w)
	}
	return os.Remove(path)
}

// writeItems writes items to a file, one item per line.
func (c *comparison) writeItems(path string, first, count int) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the items: %w", err)
	}
	out := bufio.NewWriterSize(file, 1<<20)
	for i := first; i < first+count && err == nil; i++ {
		_, err = out.Write(append(c.corpus.Item(i), '\n'))
	}
	if err := errors.Join(err, out.Flush(), file.Close()); err != nil {
		return fmt.Errorf("write the items: %w", err)
	}
	return nil
}

// sizes records the disk usage of the libraries, after the peers have merged their indexes into one segment.
func (c *comparison) sizes() error {
	if c.result.Peers == nil {
		c.result.Peers = map[string]report.Stage{}
	}
	for _, l := range c.all() {
		size, err := l.Size()
		if err != nil {
			return err
		}
		c.result.Peers[l.name] = report.Stage{Items: c.scale.items, Disk: size}
	}
	return nil
}

// course contains the queries of one kind. The method block divides them into blocks: the first block is for the warm-up of the libraries,
// and each round uses another block.
type course struct {
	kind        string
	limit       int
	newestFirst bool
	families    []sample.Family
}

// courses returns the queries of the comparison: a course for each kind. Listings use the first half of the queries of each family, and
// counts use the second half.
func (c *comparison) courses() []course {
	half := (1 + c.scale.rounds) * c.scale.family
	ranked, byDate := course{kind: report.RankedFamily, limit: 20}, course{kind: report.ByDateFamily, limit: 50, newestFirst: true}
	counted := course{kind: report.CountedFamily}
	for _, f := range c.corpus.Families(2 * half) {
		listed := &byDate
		if f.Text {
			listed = &ranked
		}
		listed.families = append(listed.families, sample.Family{Name: f.Name, Queries: f.Queries[:half]})
		counted.families = append(counted.families, sample.Family{Name: f.Name, Queries: f.Queries[half:]})
	}
	return []course{ranked, byDate, counted}
}

// block returns the queries of a round, family by family. Round -1 is the warm-up.
func (c course) block(round, size int) ([]anchor.Query, error) {
	var list []anchor.Query
	for _, f := range c.families {
		for _, text := range f.Queries[(1+round)*size : (2+round)*size] {
			q, err := anchor.NewQuery(text, c.limit, c.newestFirst)
			if err != nil {
				return nil, err
			}
			list = append(list, q)
		}
	}
	return list, nil
}

// warmUps is how often the queries of the first block run before the measurement. The Java virtual machine compiles only code that runs often.
const warmUps = 20

// queries first runs all queries without clearing the engine's caches. After that, it runs all queries again, and clears the caches before
// each query. It does not alternate between the two, so that clearing the caches does not affect the first measurement.
func (c *comparison) queries(ctx context.Context) error {
	courses := c.courses()
	for _, forget := range []bool{false, true} {
		for _, each := range courses {
			for i := range warmUps + c.scale.rounds {
				round := max(i-warmUps, -1)
				if err := c.block(ctx, each, round, forget); err != nil {
					return fmt.Errorf("%s: %w", each.kind, err)
				}
			}
		}
	}
	for _, line := range report.Families(c.result) {
		c.say("%s", line)
	}
	return nil
}

// asked is one way to run the queries of a block: a library and its options. name is the series of the result.
type asked struct {
	name    string
	library library
	way     anchor.Way
}

// ways returns the ways to run the queries of a round (see asked), and the index of the first way of the engine. The peers run the
// queries in two passes before the engine, and in one pass after it, or the other way round in every second round. This way, the second run
// of a peer does not find the data of its first run in the caches of the processor.
func (c *comparison) ways(round int, page, forget bool) (list []asked, engine int) {
	ours := []asked{{report.FirstTime, c.ours, anchor.Way{}}, {report.Again, c.ours, anchor.Way{}}}
	if forget {
		ours = []asked{{report.NothingKept, c.ours, anchor.Way{Forget: true}}}
	}
	var twoPasses, onePass []asked
	for _, l := range c.theirs {
		twoPasses = append(twoPasses, asked{report.TwoPasses(l.name), l, anchor.Way{}})
		if page {
			onePass = append(onePass, asked{report.OnePass(l.name), l, anchor.Way{OnePass: true}})
		}
	}
	if round%2 == 0 {
		list = slices.Concat(twoPasses, ours, onePass)
	} else {
		list = slices.Concat(onePass, ours, twoPasses)
	}
	return list, slices.IndexFunc(list, func(a asked) bool { return a.library == c.ours })
}

// block runs the queries of one round in each way. All ways must return the same results.
func (c *comparison) block(ctx context.Context, of course, round int, forget bool) error {
	queries, err := of.block(round, c.scale.family)
	if err != nil {
		return err
	}
	ways, engine := c.ways(round, of.limit > 0, forget)
	answers := make([]anchor.Answer, len(ways))
	for i, way := range ways {
		if answers[i], err = way.library.Search(ctx, queries, way.way); err != nil {
			return err
		}
	}
	for i, way := range ways {
		if err := way.library.Agree(queries, answers[engine], answers[i]); err != nil {
			return fmt.Errorf("%s and %s: %w", ways[engine].name, way.name, err)
		}
		if round < 0 {
			continue
		}
		into := func(family string, latencies []time.Duration) {
			f := c.result.Family(of.kind, family)
			w := &f.Kept
			if forget {
				w = &f.Forgotten
			}
			w.Add(way.name, roundOf(load.Result{Requests: len(latencies), Elapsed: sum(latencies), Latencies: latencies}))
		}
		for n, f := range of.families {
			into(f.Name, answers[i].Latencies[n*c.scale.family:(n+1)*c.scale.family])
		}
		into(report.EveryFamily, answers[i].Latencies)
	}
	return nil
}

func sum(list []time.Duration) (total time.Duration) {
	for _, d := range list {
		total += d
	}
	return total
}
