package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/anchor"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/opensearch/node"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

// lucene compares the engine with Lucene. Both run as libraries, without HTTP.
func (b *suite) lucene(ctx context.Context) error {
	dir := filepath.Join(b.dir, "anchor")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the directory of the libraries: %w", err)
	}
	theirs, err := anchor.StartLucene(ctx, dir)
	if absent, ok := errors.AsType[*node.AbsentError](err); ok {
		b.result.Absent[report.Lucene] = absent.Reason
		b.say("the comparison with Lucene did not run: %s", absent.Reason)
		return nil
	}
	if err != nil {
		return err
	}
	b.stopping = append(b.stopping, theirs.Child)
	b.result.Versions[report.Lucene] = theirs.Version
	ours, err := anchor.StartEngine(dir)
	if err != nil {
		return err
	}
	b.stopping = append(b.stopping, ours.Child)
	p := &pair{suite: b, ours: ours, theirs: theirs}
	if err := p.importItems(ctx, filepath.Join(dir, "items.ndjson")); err != nil {
		return err
	}
	if err := p.queries(ctx); err != nil {
		return err
	}
	if err := p.sizes(); err != nil {
		return err
	}
	return errors.Join(ours.Close(), theirs.Close())
}

// pair contains the two libraries of the comparison: the engine (ours) and Lucene (theirs).
type pair struct {
	*suite
	ours, theirs *anchor.Library
}

// anchorRounds is the number of rounds of the import. Each round imports the same number of items.
const anchorRounds = 10

// importItems imports the items into both libraries in anchorRounds rounds, each from a file.
func (p *pair) importItems(ctx context.Context, path string) error {
	w := p.workload(report.AnchorImport, "Bulk import in process, all queried fields searchable at the end", "items", anchor.Writers, p.scale.items)
	chunk := p.scale.items / anchorRounds
	into := func(name string, l *anchor.Library) contender {
		return importer(ctx, name, l.CPU, func(int) (load.Result, error) { return l.Import(ctx, path, chunk) })
	}
	for round := range anchorRounds {
		if err := p.writeItems(path, round*chunk, chunk); err != nil {
			return err
		}
		if err := turn(w, round, into(report.Engine, p.ours), into(report.Lucene, p.theirs)); err != nil {
			return err
		}
	}
	p.tell(w)
	return os.Remove(path)
}

// writeItems writes items to a file, one item per line.
func (p *pair) writeItems(path string, first, count int) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the items: %w", err)
	}
	out := bufio.NewWriterSize(file, 1<<20)
	for i := first; i < first+count && err == nil; i++ {
		_, err = out.Write(append(p.corpus.Item(i), '\n'))
	}
	if err := errors.Join(err, out.Flush(), file.Close()); err != nil {
		return fmt.Errorf("write the items: %w", err)
	}
	return nil
}

// sizes records the disk usage of the libraries, after Lucene has merged its index into one segment.
func (p *pair) sizes() error {
	if p.result.Peers == nil {
		p.result.Peers = map[string]report.Stage{}
	}
	for name, l := range map[string]*anchor.Library{report.Engine: p.ours, report.Lucene: p.theirs} {
		size, err := l.Size()
		if err != nil {
			return err
		}
		p.result.Peers[name] = report.Stage{Items: p.scale.items, Disk: size}
	}
	return nil
}

// course contains the queries of one kind. The method block divides them into blocks: the first block is for the warm-up of both libraries,
// and each round uses another block.
type course struct {
	kind        string
	limit       int
	newestFirst bool
	families    []sample.Family
}

// courses returns the queries of the comparison: a course for each kind. Listings use the first half of the queries of each family, and
// counts use the second half.
func (p *pair) courses() []course {
	half := (1 + p.scale.rounds) * p.scale.family
	ranked, byDate := course{kind: report.RankedFamily, limit: 20}, course{kind: report.ByDateFamily, limit: 50, newestFirst: true}
	counted := course{kind: report.CountedFamily}
	for _, f := range p.corpus.Families(2 * half) {
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

// warmUps is the number of times that the queries of the first block run. The Java virtual machine compiles only code that runs often.
const warmUps = 20

// queries first runs all queries without clearing the engine's caches. After that, it runs all queries again, and clears the caches before
// each query. It does not alternate between the two, so that clearing the caches does not affect the first measurement.
func (p *pair) queries(ctx context.Context) error {
	courses := p.courses()
	for _, forget := range []bool{false, true} {
		for _, c := range courses {
			for i := range warmUps + p.scale.rounds {
				round := max(i-warmUps, -1)
				if err := p.block(ctx, c, round, forget); err != nil {
					return fmt.Errorf("%s: %w", c.kind, err)
				}
			}
		}
	}
	for _, line := range report.Families(p.result) {
		p.say("%s", line)
	}
	return nil
}

// asked is one way to run the queries of a block: a library and its options. name is the series of the result.
type asked struct {
	name    string
	library *anchor.Library
	way     anchor.Way
}

// block runs the queries of one round in each way (see asked). All ways must return the same results.
func (p *pair) block(ctx context.Context, c course, round int, forget bool) error {
	queries, err := c.block(round, p.scale.family)
	if err != nil {
		return err
	}
	ways := []asked{{report.FirstTime, p.ours, anchor.Way{}}, {report.Again, p.ours, anchor.Way{}}}
	if forget {
		ways = []asked{{report.NothingKept, p.ours, anchor.Way{Forget: true}}}
	}
	peers := []asked{{report.TwoPasses, p.theirs, anchor.Way{}}}
	if c.limit > 0 {
		peers = append(peers, asked{report.OnePass, p.theirs, anchor.Way{OnePass: true}})
	}
	if round%2 == 0 {
		ways = append(ways, peers...)
	} else {
		ways = append(peers, ways...)
	}
	var agreed *anchor.Answer
	for _, way := range ways {
		answer, err := way.library.Search(ctx, queries, way.way)
		if err != nil {
			return err
		}
		if agreed == nil {
			agreed = &answer
		} else if err := anchor.Agree(queries, *agreed, answer); err != nil {
			return fmt.Errorf("%s and %s: %w", ways[0].name, way.name, err)
		}
		if round < 0 {
			continue
		}
		into := func(family string, latencies []time.Duration) {
			f := p.result.Family(c.kind, family)
			w := &f.Kept
			if forget {
				w = &f.Forgotten
			}
			w.Add(way.name, roundOf(load.Result{Requests: len(latencies), Elapsed: sum(latencies), Latencies: latencies}))
		}
		for i, f := range c.families {
			into(f.Name, answer.Latencies[i*p.scale.family:(i+1)*p.scale.family])
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
