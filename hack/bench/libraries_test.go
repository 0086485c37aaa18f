package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/anchor"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

// TestLibraries runs the comparison with Lucene with few items. It fails if the engine and Lucene find different totals or items. It
// downloads nothing, so it is skipped if the jars of OpenSearch are not in the cache directory.
func TestLibraries(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("DID NOT RUN: %v", err)
	}
	if jars, err := filepath.Glob(filepath.Join(cache, "vitrine/opensearch/maven/org/apache/lucene/lucene-core/10.*/*.jar")); err != nil || len(jars) == 0 {
		t.Skipf("DID NOT RUN: the jars of OpenSearch are not in %s; go run ./hack/opensearch --nodes 0 downloads them", cache)
	}
	s := newSuite(t, scaleOf(2000))
	t.Cleanup(func() { os.RemoveAll(s.dir) })
	s.libraries(t)
}

// libraries compares the engine with Lucene in process, without HTTP.
func (s *suite) libraries(tb testing.TB) {
	tb.Helper()
	lucene, engine := anchor.StartLucene(tb, s.dir), anchor.StartEngine(tb, s.dir)
	version(tb, report.Lucene, lucene.Version)
	s.importFiles(tb, engine, lucene)
	// First, run all queries without clearing the engine's caches. After that, run all queries again, and clear the caches before each
	// query. Do not alternate between the two, so that clearing the caches does not affect the first measurement.
	for _, forget := range []bool{false, true} {
		for _, c := range s.courses() {
			for range warmUps {
				s.block(tb, engine, lucene, c, -1, forget)
			}
			for round := range s.rounds {
				s.block(tb, engine, lucene, c, round, forget)
			}
		}
	}
	for name, l := range map[string]*anchor.Library{report.Engine: engine, report.Lucene: lucene} {
		measures(tb, "size", name, map[report.Metric]int64{report.Items: int64(s.items), report.Disk: l.Size(tb)})
		l.Close(tb)
	}
}

// importFiles imports the items into both libraries in ten rounds, each from a file. The batches of the engine are always durable. In the
// first half of the rounds, each thread of Lucene commits only once. In the second half, it commits each batch. This order prevents the
// many small segments of the second half from affecting the first half.
func (s *suite) importFiles(tb testing.TB, engine, lucene *anchor.Library) {
	tb.Helper()
	const half = 5
	chunk, path := s.items/(2*half), filepath.Join(s.dir, "items.ndjson")
	for part, workload := range []string{"few-commits-import", "durable-import"} {
		batch := anchor.BatchItems
		if part == 0 {
			batch = (chunk + anchor.Writers - 1) / anchor.Writers
		}
		into := func(name string, l *anchor.Library) contender {
			return settling(name, l.CPU, func(tb testing.TB, _ int) load.Result { return l.Import(tb, path, chunk, batch) })
		}
		for round := range half {
			if err := os.WriteFile(path, bytes.Join(s.bodies((part*half+round)*chunk, chunk, nil), nil), 0o600); err != nil {
				tb.Fatal(err)
			}
			turn(tb, workload, round, into(report.Engine, engine), into(report.Lucene, lucene))
		}
	}
}

// course contains the queries of one kind, by family. The first block of each family is for the warm-up of the libraries, and each round
// uses another block.
type course struct {
	kind        string
	limit       int
	newestFirst bool
	families    []sample.Family
}

// courses returns the queries of the comparison: a course for each kind. Listings use the first half of the queries of each family, and
// counts use the second half.
func (s *suite) courses() []course {
	half := (1 + s.rounds) * s.family
	ranked, byDate, counted := course{kind: report.Ranked, limit: 20}, course{kind: report.ByDate, limit: 50, newestFirst: true}, course{kind: report.Counted}
	for _, f := range s.corpus.Families(2 * half) {
		listed := &byDate
		if f.Text {
			listed = &ranked
		}
		listed.families = append(listed.families, sample.Family{Name: f.Name, Queries: f.Queries[:half]})
		counted.families = append(counted.families, sample.Family{Name: f.Name, Queries: f.Queries[half:]})
	}
	return []course{ranked, byDate, counted}
}

// warmUps is how often the queries of the first block run before the measurement. The Java virtual machine compiles only code that runs
// often.
const warmUps = 20

// asked is one way to run the queries of a block: a library and its options. name is the series of the result.
type asked struct {
	name    string
	library *anchor.Library
	way     anchor.Way
}

// block runs the queries of one round in each way. All ways must return the same results. Lucene runs the queries in two passes before the
// engine, and in one pass after it, or the other way round in every second round. This way, the second run of Lucene does not find the data
// of its first run in the caches of the processor. Round -1 is the warm-up.
func (s *suite) block(tb testing.TB, engine, lucene *anchor.Library, c course, round int, forget bool) {
	tb.Helper()
	var queries []anchor.Query
	for _, f := range c.families {
		for _, text := range f.Queries[(1+round)*s.family : (2+round)*s.family] {
			queries = append(queries, anchor.NewQuery(tb, text, c.limit, c.newestFirst))
		}
	}
	before, after := []asked{{report.TwoPasses, lucene, anchor.Way{}}}, []asked(nil)
	if c.limit > 0 {
		after = []asked{{report.OnePass, lucene, anchor.Way{OnePass: true}}}
	}
	if round%2 != 0 {
		before, after = after, before
	}
	ours := []asked{{report.FirstTime, engine, anchor.Way{}}, {report.Again, engine, anchor.Way{}}}
	state := report.Kept
	if forget {
		ours, state = []asked{{report.NothingKept, engine, anchor.Way{Forget: true}}}, report.Forgotten
	}
	var first anchor.Answer
	for i, way := range slices.Concat(before, ours, after) {
		answer := way.library.Search(tb, queries, way.way)
		if i == 0 {
			first = answer
		}
		if err := anchor.Agree(queries, first, answer); err != nil {
			tb.Fatalf("%s differs: %v", way.name, err)
		}
		if round < 0 {
			continue
		}
		into := func(family string, latencies []time.Duration) {
			_, kind, _ := strings.Cut(c.kind, "/")
			result(tb, kind+state+family, way.name, round, func(testing.TB) load.Result {
				r := load.Result{Requests: len(latencies), Quantiles: load.Quantiles(latencies)}
				for _, l := range latencies {
					r.Elapsed += l
				}
				return r
			})
		}
		for n, f := range c.families {
			into(f.Name, answer.Latencies[n*s.family:(n+1)*s.family])
		}
		into(report.EveryFamily, answer.Latencies)
	}
}
