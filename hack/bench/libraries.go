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

// comparison contains the libraries that are compared in process, without HTTP.
type comparison struct {
	*suite
	engine, lucene *anchor.Library
}

// libraries compares the engine with Lucene.
func (b *suite) libraries(ctx context.Context) error {
	dir := filepath.Join(b.dir, "anchor")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the directory of the libraries: %w", err)
	}
	c := &comparison{suite: b}
	var err error
	c.lucene, err = anchor.StartLucene(ctx, dir)
	if absent, ok := errors.AsType[*anchor.AbsentError](err); ok {
		b.result.Absent[report.Lucene] = absent.Reason
		b.say("the comparison with Lucene did not run: %s", absent.Reason)
		return nil
	}
	if err != nil {
		return err
	}
	b.stopping = append(b.stopping, c.lucene.Child)
	b.result.Versions[report.Lucene] = c.lucene.Version
	if c.engine, err = anchor.StartEngine(dir); err != nil {
		return err
	}
	b.stopping = append(b.stopping, c.engine.Child)
	if err := c.importItems(ctx, filepath.Join(dir, "items.ndjson")); err != nil {
		return err
	}
	if err := c.queries(ctx); err != nil {
		return err
	}
	for name, l := range map[string]*anchor.Library{report.Engine: c.engine, report.Lucene: c.lucene} {
		size, err := l.Size()
		if err != nil {
			return err
		}
		b.peer(name, report.Stage{Items: b.scale.items, Disk: size})
	}
	return errors.Join(c.engine.Close(), c.lucene.Close())
}

// anchorRounds is the number of rounds of the import. Each round imports the same number of items.
const anchorRounds = 10

// importItems imports the items into both libraries in anchorRounds rounds, each from a file. The batches of the engine are always durable.
// In the first half of the rounds, each thread of Lucene commits only once. In the second half, it commits each batch. This order prevents
// the many small segments of the second half from affecting the first half.
func (c *comparison) importItems(ctx context.Context, path string) error {
	chunk, half := c.scale.items/anchorRounds, anchorRounds/2
	for part, of := range []struct {
		id, title string
		batch     int
	}{
		{report.OneCommitImport, "Bulk import in process, Lucene with one commit per thread and round", (chunk + anchor.Writers - 1) / anchor.Writers},
		{report.AnchorImport, "Bulk import in process, each batch durable", anchor.BatchItems},
	} {
		w := c.workload(of.id, of.title, "items", anchor.Writers, half*chunk)
		into := func(name string, l *anchor.Library) contender {
			return importer(ctx, name, l.CPU, func(int) (load.Result, error) { return l.Import(ctx, path, chunk, of.batch) })
		}
		for round := range half {
			if err := c.writeItems(path, (part*half+round)*chunk, chunk); err != nil {
				return err
			}
			if err := turn(w, round, into(report.Engine, c.engine), into(report.Lucene, c.lucene)); err != nil {
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
	return nil
}

// asked is one way to run the queries of a block: a library and its options. name is the series of the result.
type asked struct {
	name    string
	library *anchor.Library
	way     anchor.Way
}

// ways returns the ways to run the queries of a round. Lucene runs the queries in two passes before the engine, and in one pass after it, or
// the other way round in every second round. This way, the second run of Lucene does not find the data of its first run in the caches of
// the processor.
func (c *comparison) ways(round int, page, forget bool) []asked {
	before, after := []asked{{report.TwoPasses, c.lucene, anchor.Way{}}}, []asked(nil)
	if page {
		after = []asked{{report.OnePass, c.lucene, anchor.Way{OnePass: true}}}
	}
	if round%2 != 0 {
		before, after = after, before
	}
	ours := []asked{{report.FirstTime, c.engine, anchor.Way{}}, {report.Again, c.engine, anchor.Way{}}}
	if forget {
		ours = []asked{{report.NothingKept, c.engine, anchor.Way{Forget: true}}}
	}
	return slices.Concat(before, ours, after)
}

// block runs the queries of one round in each way. All ways must return the same results.
func (c *comparison) block(ctx context.Context, of course, round int, forget bool) error {
	queries, err := of.block(round, c.scale.family)
	if err != nil {
		return err
	}
	var first anchor.Answer
	for i, way := range c.ways(round, of.limit > 0, forget) {
		answer, err := way.library.Search(ctx, queries, way.way)
		if err != nil {
			return err
		}
		if i == 0 {
			first = answer
		}
		if err := anchor.Agree(queries, first, answer); err != nil {
			return fmt.Errorf("%s differs: %w", way.name, err)
		}
		if round < 0 {
			continue
		}
		into := func(family string, latencies []time.Duration) {
			c.result.Family(of.kind, family).Of(forget).Add(way.name, roundOf(load.Result{Requests: len(latencies), Elapsed: sum(latencies), Latencies: latencies}))
		}
		for n, f := range of.families {
			into(f.Name, answer.Latencies[n*c.scale.family:(n+1)*c.scale.family])
		}
		into(report.EveryFamily, answer.Latencies)
	}
	return nil
}

func sum(list []time.Duration) (total time.Duration) {
	for _, d := range list {
		total += d
	}
	return total
}
