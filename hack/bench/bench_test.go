package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

var (
	items      = flag.Int("items", 200_000, "number of items; at least 2000")
	opensearch = flag.String("url", os.Getenv("OPENSEARCH_URL"), "URL of an OpenSearch node without security (default: $OPENSEARCH_URL); if empty, a node is started; \"none\" leaves OpenSearch out")
	flags      = flag.String("flags", "", "more flags for vitrine serve, separated by spaces")
)

// The benchmarks run in this order. The first five use the same store, which is imported once.

func BenchmarkImport(b *testing.B)    { begun(b).loaded(b) }
func BenchmarkRestart(b *testing.B)   { begun(b).loaded(b).restart(b) }
func BenchmarkPages(b *testing.B)     { begun(b).loaded(b).pages(b) }
func BenchmarkSearch(b *testing.B)    { begun(b).loaded(b).search(b) }
func BenchmarkPosts(b *testing.B)     { begun(b).loaded(b).posts(b) }
func BenchmarkStanding(b *testing.B)  { begun(b).stopped(b).standing(b) }
func BenchmarkLive(b *testing.B)      { begun(b).stopped(b).live(b) }
func BenchmarkScaled(b *testing.B)    { begun(b).stopped(b).scaled(b) }
func BenchmarkLibraries(b *testing.B) { begun(b).stopped(b).libraries(b) }

// suite is a run in progress.
type suite struct {
	scale
	dir, binary string
	corpus      *sample.Library
	filters     []sample.Filter
	vitrine     *subject.Vitrine // on the main store; nil before the import
	node        *subject.OpenSearch
	written     int // the number of items that live has posted
	opened      bool
}

// current is the suite of all benchmarks of this process.
var current *suite

// TestMain runs the program of a subject instead of the tests if the arguments request that, because the subjects start this binary as a
// child process. It removes the files and the indices of the benchmarks, even if they are interrupted.
func TestMain(m *testing.M) {
	if ran, err := subject.Main(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	} else if ran {
		os.Exit(0)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ended := make(chan int, 1)
	go func() { ended <- m.Run() }()
	code := 1
	select {
	case code = <-ended:
	case <-ctx.Done():
	}
	if current != nil {
		if current.node != nil {
			if err := current.node.Close(context.Background()); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
		os.RemoveAll(current.dir)
	}
	os.Exit(code)
}

// begun returns the current suite. At the first call, it builds Vitrine, and prints the configuration lines of the results.
func begun(b *testing.B) *suite {
	b.Helper()
	if current != nil {
		return current
	}
	current = newSuite(b, scaleOf(*items))
	current.binary = subject.BuildVitrine(b, "../..", current.dir)
	fmt.Printf("date: %s\nitems: %d\nfilters: %d\nmachine: %s\n", time.Now().UTC().Format(time.DateOnly), *items, filters, machine(b))
	version(b, "Go", strings.TrimPrefix(runtime.Version(), "go"))
	commit, err := exec.CommandContext(b.Context(), "git", "describe", "--tags", "--always", "--dirty").Output()
	if err != nil {
		b.Fatal(err)
	}
	version(b, report.Vitrine, strings.TrimSpace(string(commit)))
	return current
}

func newSuite(tb testing.TB, s scale) *suite {
	tb.Helper()
	dir, err := os.MkdirTemp("", "vitrine-bench-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return &suite{scale: s, dir: dir, corpus: sample.NewLibrary()}
}

// machine describes this machine.
func machine(tb testing.TB) string {
	tb.Helper()
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		tb.Fatal(err)
	}
	processors, err := proc.CPUInfo()
	if err != nil {
		tb.Fatal(err)
	}
	memory, err := proc.Meminfo()
	if err != nil {
		tb.Fatal(err)
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		tb.Fatal(err)
	}
	release, _, _ := strings.Cut(strings.TrimSpace(string(kernel)), "-")
	return fmt.Sprintf("%d cores of %s with %.0f GiB of memory and Linux %s", runtime.NumCPU(), processors[0].ModelName, float64(*memory.MemTotalBytes)/(1<<30), release)
}

// version prints the configuration line with the version of a program.
func version(tb testing.TB, name, version string) {
	tb.Helper()
	if _, ok := tb.(*testing.B); ok {
		fmt.Printf("version-%s: %s %s\n", strings.ToLower(name), name, version)
	}
}

// serve starts Vitrine on a store.
func (s *suite) serve(tb testing.TB, store *subject.Store, more ...string) *subject.Vitrine {
	tb.Helper()
	return subject.Serve(tb, s.binary, store, s.flags(more...)...)
}

func (s *suite) flags(more ...string) []string {
	return slices.Concat([]string{"--without-kubernetes"}, strings.Fields(*flags), more)
}

// stopped stops Vitrine on the main store, because even an idle process uses memory and processor time.
func (s *suite) stopped(tb testing.TB) *suite {
	tb.Helper()
	if s.vitrine != nil {
		s.vitrine.Stop(tb, syscall.SIGTERM)
		s.vitrine = nil
	}
	return s
}

// openSearch returns the OpenSearch node, or nil if there is none.
func (s *suite) openSearch(tb testing.TB) *subject.OpenSearch {
	tb.Helper()
	if !s.opened && *opensearch != "none" {
		if s.node = subject.OpenOpenSearch(tb, *opensearch, filepath.Join(s.dir, "opensearch")); s.node != nil {
			version(tb, report.OpenSearch, s.node.Version)
		}
	}
	s.opened = true
	return s.node
}

// clock returns the processor time of a subject.
type clock func(testing.TB) time.Duration

// contender is one of the programs, or variants of a program, that are measured in alternating rounds. round runs one round.
type contender struct {
	name  string
	round func(tb testing.TB, round int) load.Result
}

// timed returns a contender that measures the processor time of each round.
func timed(name string, cpu clock, round func(tb testing.TB, round int) load.Result) contender {
	return contender{name, func(tb testing.TB, n int) load.Result {
		before := cpu(tb)
		r := round(tb, n)
		r.CPU = cpu(tb) - before
		return r
	}}
}

// settling returns a contender that waits after each round until the server has finished its background work, such as merging, so that
// this work does not affect the next contender. It reports the processor time of this work separately. It reports no latencies, because
// each request imports many items.
func settling(name string, cpu clock, round func(tb testing.TB, round int) load.Result) contender {
	c := timed(name, cpu, round)
	return contender{name, func(tb testing.TB, n int) load.Result {
		r := c.round(tb, n)
		r.Quantiles, r.After = nil, settle(tb, cpu)
		return r
	}}
}

// settle waits until a server is idle, but at most for two minutes. It returns the processor time that the server used during the wait.
func settle(tb testing.TB, cpu clock) time.Duration {
	tb.Helper()
	const look = 250 * time.Millisecond
	began := cpu(tb)
	last := began
	for range 2 * time.Minute / look {
		<-time.After(look)
		now := cpu(tb)
		if now-last < look/20 {
			return now - began
		}
		last = now
	}
	return last - began
}

// alternate runs a number of rounds. In each round, every contender runs once.
func alternate(tb testing.TB, workload string, rounds int, contenders ...contender) {
	tb.Helper()
	for round := range rounds {
		turn(tb, workload, round, contenders...)
	}
}

// turn runs one round with each contender. Every other round reverses the order of the contenders, so that after-effects of a contender, or
// a slow period of the machine, do not always affect the same contender.
func turn(tb testing.TB, workload string, round int, contenders ...contender) {
	tb.Helper()
	for i := range contenders {
		if round%2 == 1 {
			i = len(contenders) - 1 - i
		}
		c := contenders[i]
		result(tb, workload, c.name, round, func(tb testing.TB) load.Result { return c.round(tb, round) })
	}
}

// result runs a round. In a benchmark, it reports the metrics of the round; in a test, it does not.
func result(tb testing.TB, workload, series string, round int, do func(testing.TB) load.Result) {
	tb.Helper()
	b, ok := tb.(*testing.B)
	if !ok {
		do(tb)
		return
	}
	if !b.Run(fmt.Sprintf("%s/%s/round=%d", workload, series, round), func(b *testing.B) { do(b).Report(b) }) {
		b.FailNow()
	}
}

// measures reports numbers of a subject that are not measured in rounds, such as its sizes, by unit.
func measures(tb testing.TB, workload, series string, numbers map[report.Metric]int64) {
	tb.Helper()
	if b, ok := tb.(*testing.B); ok {
		b.Run(fmt.Sprintf("%s/%s/round=0", workload, series), func(b *testing.B) {
			for unit, n := range numbers {
				b.ReportMetric(float64(n), string(unit))
			}
			b.ReportMetric(0, "ns/op") // removes the time
		})
	}
}

// scale sets the size of a run.
type scale struct {
	items int
	// chunk is the number of items in one round of the import. The first fifth of all items is the early stage.
	chunk int
	// rounds is the number of rounds of each subject, and restarts the number of restarts of each kind.
	rounds, restarts int
	// requests is the number of requests in one round of pages.
	requests int
	// booleans is the number of boolean queries in a round. No query occurs in two rounds.
	booleans int
	// family is the number of queries of each family in a round of the comparison of libraries. No query occurs in two rounds.
	family int
	// posted is the number of posts in one round. postedOpenSearch and postedScaled are this number for OpenSearch, and for Vitrine on
	// OpenSearch.
	posted, postedOpenSearch, postedScaled int
	// filled is the number of items that are imported while there are standingFilters filters. percolated is the number of items that one
	// round sends to the percolator.
	filled, standingFilters, percolated int
	// streams is the number of open streams of events.
	streams int
	// scaledItems is the number of items in the library on OpenSearch.
	scaledItems int
}

// filters is the number of filters in the main store. Numbers of concurrent clients: clients request pages, importers import items, and
// posters post items.
const (
	filters   = 1000
	clients   = 8
	importers = 4
	posters   = 64
)

// scaleOf returns the scale for a number of items. With fewer items than the quick run, all other numbers are smaller too.
func scaleOf(items int) scale {
	s := scale{
		items: items, chunk: min(items/10, 50_000), rounds: 7, restarts: 3, requests: 1500, booleans: 40, family: 20,
		posted: 3000, postedOpenSearch: 1500, postedScaled: 200, filled: min(items/4, 200_000), standingFilters: 10_000, percolated: 200,
		scaledItems: min(items, 60_000), streams: min(items, 10_000),
	}
	if items < 200_000 {
		s.rounds, s.restarts, s.requests, s.booleans, s.family = 3, 2, 300, 20, 10
		s.posted, s.postedOpenSearch, s.postedScaled, s.standingFilters, s.percolated = 500, 300, 100, min(items, 10_000), 20
	}
	return s
}

func TestScales(t *testing.T) {
	for _, n := range []int{2000, 20_000, 200_000, 1_000_000} {
		if s := scaleOf(n); s.items%s.chunk != 0 || s.items/5%s.chunk != 0 || s.filled%10 != 0 || s.percolated < percolateBatch || s.scaledItems%scaledRounds != 0 {
			t.Errorf("%d items: %+v", n, s)
		}
	}
}

func TestTurns(t *testing.T) {
	var order string
	of := func(name string) contender {
		return contender{name, func(testing.TB, int) load.Result { order += name; return load.Result{} }}
	}
	if alternate(t, "", 3, of("a"), of("b")); order != "abbaab" {
		t.Errorf("the order is %s", order)
	}
}

func TestSettle(t *testing.T) {
	spent := []time.Duration{0, time.Second, 2 * time.Second, 2 * time.Second}
	got := settle(t, func(testing.TB) (now time.Duration) { now, spent = spent[0], spent[1:]; return now })
	if got != 2*time.Second {
		t.Errorf("%s", got)
	}
}
