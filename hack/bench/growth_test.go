package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vitrine-dev/vitrine/hack/bench/child"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

var (
	growthDir   = flag.String("growth", "", "directory of the store of BenchmarkGrowth, which a later run continues; empty skips this benchmark")
	growthItems = flag.Int("growth-items", 10_000_000, "number of items at the last stage of BenchmarkGrowth, divisible by 10,000")
)

// growthStages are the sizes at which the library is measured, in tenths of all items.
var growthStages = []int{1, 3, 5, 10}

// memoryLimits are the memory limits of the control groups in which the library is measured, in MiB.
var memoryLimits = []int{8192, 4096, 2048, 1024}

// growth is a run of BenchmarkGrowth.
type growth struct {
	*suite
	dir  string
	done map[string]bool // the steps that this run or an earlier one has completed
	// planned contains the pages to request at the stage with this number of items.
	planned struct {
		items int
		pagePlan
	}
}

// BenchmarkGrowth imports items with `vitrine import` into one store, and measures the store at several sizes. An interrupted run can be
// continued: the directory contains the store, and the names of the completed steps. It needs root, to create control groups.
func BenchmarkGrowth(b *testing.B) {
	if *growthDir == "" {
		b.Skip("DID NOT RUN: run make growth")
	}
	*items = *growthItems
	g := &growth{suite: begun(b), dir: *growthDir, done: map[string]bool{}}
	g.scale = scaleOf(min(*growthItems/10, 1_000_000))
	g.rounds = 3
	g.resume(b)
	for tenth := range 10 {
		g.step(b, fmt.Sprintf("import %d", tenth+1), func() { g.tenth(b, tenth) })
		if slices.Contains(growthStages, tenth+1) {
			g.stage(b, (tenth+1)**growthItems/10)
		}
	}
	g.step(b, "erase", func() { g.erase(b) })
	g.stopped(b)
}

// resume opens the store of an earlier run, or creates one.
func (g *growth) resume(b *testing.B) {
	b.Helper()
	g.filters = g.corpus.Filters(filters)
	text, err := os.ReadFile(g.steps())
	if errors.Is(err, fs.ErrNotExist) {
		subject.NewStore(b, g.store(), g.filters)
		err = os.WriteFile(g.steps(), nil, 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	for step := range strings.Lines(string(text)) {
		g.done[strings.TrimSpace(step)] = true
	}
}

func (g *growth) store() string { return filepath.Join(g.dir, "store") }
func (g *growth) steps() string { return filepath.Join(g.dir, "steps") }

// step runs a step, unless it is complete, and records that it is complete.
func (g *growth) step(b *testing.B, name string, do func()) {
	b.Helper()
	if g.done[name] {
		return
	}
	fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format(time.TimeOnly), name)
	do()
	file, err := os.OpenFile(g.steps(), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = fmt.Fprintln(file, name)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		b.Fatal(err)
	}
}

// running starts the server without a memory limit, unless it runs. In addition to the generated items, the library has the item of write.
func (g *growth) running(b *testing.B) {
	b.Helper()
	if g.vitrine == nil {
		g.vitrine = g.serve(b, subject.OpenStore(g.store(), g.filters))
		g.write(b)
	}
}

// tenth imports a tenth of the items: `vitrine import` reads them from a pipe while this process generates them. If an earlier run was
// interrupted, it imports the rest of the tenth.
func (g *growth) tenth(b *testing.B, tenth int) {
	b.Helper()
	g.running(b)
	size := *growthItems / 10
	first := int(g.vitrine.Metric(b, `vitrine_items{property="bench/default"}`)) - 1
	count := (tenth+1)*size - first
	if count < 0 || count > size {
		b.Fatalf("the store has %d items at the begin of tenth %d; remove %s", first, tenth+1, g.dir)
	}
	if count == 0 {
		return
	}
	series := fmt.Sprintf("tenth %d", tenth+1)
	turn(b, "import", 0, settling(series, g.vitrine.CPU, func(tb testing.TB, _ int) load.Result {
		began := time.Now()
		g.pipe(tb, g.vitrine, first, count)
		return load.Result{Requests: count, Elapsed: time.Since(began)}
	}))
}

// pipe runs `vitrine import -` with generated items.
func (s *suite) pipe(tb testing.TB, into *subject.Vitrine, first, count int) {
	tb.Helper()
	from, to := io.Pipe()
	go func() {
		out := bufio.NewWriterSize(to, 1<<20)
		for i := first; i < first+count; i++ {
			out.Write(s.corpus.Item(i)) //nolint:errcheck // Flush returns the error
			out.WriteByte('\n')         //nolint:errcheck // Flush returns the error
		}
		to.CloseWithError(out.Flush())
	}()
	cmd := exec.CommandContext(tb.Context(), s.binary, "import", "-")
	cmd.Env = append(os.Environ(), into.Environment()...)
	cmd.Stdin = from
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("import: %v\n%s", err, out)
	}
	from.Close()
}

// stage measures the library with n items.
func (g *growth) stage(b *testing.B, n int) {
	b.Helper()
	g.step(b, fmt.Sprintf("pages %d", n), func() { g.growthPages(b, n) })
	g.step(b, fmt.Sprintf("queries %d", n), func() { g.growthQueries(b, n) })
	g.step(b, fmt.Sprintf("restart %d", n), func() { g.growthRestart(b, n) })
	for _, limit := range memoryLimits {
		g.step(b, fmt.Sprintf("limit %d %d", limit, n), func() { g.limited(b, limit, n) })
	}
	g.step(b, fmt.Sprintf("backup %d", n), func() { g.backup(b, n) })
}

// growthPages measures the hot page and random pages, beside the bare server, and the sizes.
func (g *growth) growthPages(b *testing.B, n int) {
	b.Helper()
	g.running(b)
	p, bare := g.recorded(b, fmt.Sprintf("book-%d", n), func(p pagePlan) []pageLog { return []pageLog{p.zipf} })
	g.compared(b, fmt.Sprintf("hot/%d", n), bare, slices.Repeat(pageLog{{p.hot}}, g.rounds))
	g.compared(b, fmt.Sprintf("zipf/%d", n), bare, p.zipf)
	bare.Stop(b, syscall.SIGTERM)
	g.size(b, strconv.Itoa(n), n)
}

// asked returns a contender that sends one request after the other.
func (g *growth) asked(series string, list []load.Request) contender {
	return timed(series, g.vitrine.CPU, func(tb testing.TB, _ int) load.Result { return load.Run(tb, 1, list, http.StatusOK, nil) })
}

// growthQueries measures queries that one client sends one after the other.
func (g *growth) growthQueries(b *testing.B, n int) {
	b.Helper()
	series := strconv.Itoa(n)
	g.running(b)
	v := g.vitrine
	booleans, ranked := g.corpus.Booleans(g.rounds*g.booleans), g.corpus.Ranked()
	of := func(queries []string, request func(q string) load.Request) (list []load.Request) {
		for _, q := range queries {
			list = append(list, request(q))
		}
		return list
	}
	newest := func(q string) load.Request { return v.Items(q, newestFirst) }
	for round, queries := range slices.Collect(slices.Chunk(booleans, g.booleans)) {
		turn(b, "boolean", round, g.asked(series, of(queries, newest)))
	}
	relevant := func(q string) load.Request { return v.Items(q, "") }
	load.Run(b, 1, of(ranked, relevant), http.StatusOK, nil) // warm-up
	for round := range g.rounds {
		g.write(b)
		turn(b, "ranked", round, g.asked(series, of(ranked, relevant)))
		turn(b, "facets", round, g.asked(series, of(booleans[round*g.booleans:(round+1)*g.booleans], func(q string) load.Request { return v.Facets("", q) })))
		turn(b, "written", round, contender{series, func(tb testing.TB, _ int) load.Result {
			var all load.Result
			for f := range g.booleans {
				g.write(tb)
				r := load.Run(tb, 1, []load.Request{v.Page(f, 1)}, http.StatusOK, nil)
				all.Requests, all.Elapsed, all.Latencies = all.Requests+1, all.Elapsed+r.Elapsed, append(all.Latencies, r.Latencies...)
			}
			all.Quantiles = load.Quantiles(all.Latencies)
			return all
		}})
	}
}

// write stores an item that no query of the benchmark matches. It is always the same item, so that the number of items stays the same.
func (g *growth) write(tb testing.TB) {
	tb.Helper()
	load.Do(tb, g.vitrine.Replace([]byte(`{"id":1,"content_type":"text","caption":"qqxqq","approval_status":"pen"}`)), http.StatusOK)
}

// growthRestart measures a start after SIGTERM and after kill -9, and the first query afterwards.
func (g *growth) growthRestart(b *testing.B, n int) {
	b.Helper()
	series := strconv.Itoa(n)
	g.running(b)
	q := g.corpus.Booleans(1)[0]
	for round := range 2 * g.rounds {
		sig, workload := syscall.SIGTERM, "stopped"
		if round%2 == 1 {
			sig, workload = syscall.SIGKILL, "killed"
		}
		result(b, workload, series, round/2, func(tb testing.TB) load.Result {
			g.vitrine.Restart(tb, g.binary, sig, g.flags()...)
			return load.Result{Requests: 1, Elapsed: g.vitrine.Ready, CPU: g.vitrine.CPU(tb)}
		})
		turn(b, "first", round, g.asked(series, []load.Request{g.vitrine.Items(q, newestFirst)}))
	}
}

// limitedWarmUp is the minimum time for which random pages are requested before they are measured with a memory limit. By then, the part of
// the index that most pages need is in the page cache.
const limitedWarmUp = time.Minute

// limited measures random pages of a server in a control group with a memory limit in MiB. At the start, no file of the store is in the
// page cache, because the kernel does not count pages that other processes have read.
func (g *growth) limited(b *testing.B, limit, n int) {
	b.Helper()
	if g.planned.items != n {
		g.running(b)
		g.planned.items, g.planned.pagePlan = n, g.plan(b, g.totals(b, g.vitrine))
	}
	g.stopped(b)
	uncache(b, g.store())
	workload, series := fmt.Sprintf("limit-%d", limit), strconv.Itoa(n)
	group := child.NewGroup(b, "vitrine-growth", int64(limit)<<20)
	v := subject.ServeIn(b, group, g.binary, subject.OpenStore(g.store(), g.filters), g.flags()...)
	result(b, workload+"-start", series, 0, func(testing.TB) load.Result {
		return load.Result{Requests: 1, Elapsed: v.Ready, CPU: v.CPU(b)}
	})
	var warmUp []load.Request
	for _, at := range slices.Concat(slices.Concat(g.planned.uniform...), g.planned.zipf[0]) {
		warmUp = append(warmUp, v.Page(at.filter, at.page))
	}
	for began := time.Now(); time.Since(began) < limitedWarmUp; {
		load.Run(b, clients, warmUp, http.StatusOK, nil)
	}
	for round := 1; round < g.rounds; round++ {
		turn(b, workload, round, reader(series, v.CPU, "", urls(v, g.planned.zipf)))
	}
	m, use := v.Memory(b, g.store()), group.Use(b)
	measures(b, workload+"-use", series, map[report.Metric]int64{
		report.Anonymous: m.Anonymous, report.File: m.File, report.Cached: use.Cached, report.Faults: use.Faults,
	})
	v.Stop(b, syscall.SIGTERM)
	group.Remove(b)
}

// uncache removes the files below a directory from the page cache.
func uncache(tb testing.TB, dir string) {
	tb.Helper()
	unix.Sync()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		return unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// backup measures a backup to a file, a restore of it, and the first start of the restored store, which builds the index.
func (g *growth) backup(b *testing.B, n int) {
	b.Helper()
	series := strconv.Itoa(n)
	g.running(b)
	file, restored := filepath.Join(g.dir, "backup.tar"), filepath.Join(g.dir, "restored")
	defer os.RemoveAll(restored)
	defer os.Remove(file)
	run := func(workload string, args ...string) {
		result(b, workload, series, 0, func(tb testing.TB) load.Result {
			began := time.Now()
			if out, err := exec.CommandContext(tb.Context(), g.binary, args...).CombinedOutput(); err != nil {
				tb.Fatalf("vitrine %s: %v\n%s", args[0], err, out)
			}
			return load.Result{Requests: 1, Elapsed: time.Since(began)}
		})
	}
	run("backup", "backup", "--data-dir", g.store(), file)
	g.stopped(b)
	run("restore", "restore", "--data-dir", restored, file)
	os.Remove(file) // the disk may have no room for the index otherwise
	result(b, "rebuild", series, 0, func(tb testing.TB) load.Result {
		began := time.Now()
		v := g.serve(tb, subject.OpenStore(restored, g.filters))
		defer v.Stop(tb, syscall.SIGKILL)
		v.Await(tb, "served", func() bool {
			resp, err := load.Send(tb.Context(), v.Page(0, 1))
			return err == nil && resp.Status == http.StatusOK
		})
		return load.Result{Requests: 1, Elapsed: time.Since(began), CPU: v.CPU(tb)}
	})
}

// erase deletes a hundred items of all ages, waits until the server has removed their bytes, and reports the processor time and the
// duration of this work, which begins five minutes after the deletion.
func (g *growth) erase(b *testing.B) {
	b.Helper()
	g.running(b)
	settle(b, g.vitrine.CPU)
	dice := rand.New(rand.NewPCG(9, uint64(time.Now().UnixNano()))) // other items than those of an interrupted run
	for range 100 {
		load.Do(b, g.vitrine.Delete(int64(sample.FirstID+dice.IntN(*growthItems))), 0)
	}
	result(b, "erase", strconv.Itoa(*growthItems), 0, func(tb testing.TB) load.Result {
		settle(tb, g.vitrine.CPU)
		before := g.vitrine.CPU(tb)
		// An idle server uses a hundredth of a processor at most.
		g.vitrine.Await(tb, "erasing", func() bool {
			before = g.vitrine.CPU(tb)
			<-time.After(time.Second)
			return g.vitrine.CPU(tb)-before > 300*time.Millisecond
		})
		began := time.Now()
		for {
			if settle(tb, g.vitrine.CPU) < 100*time.Millisecond {
				return load.Result{Requests: 1, Elapsed: time.Since(began), CPU: g.vitrine.CPU(tb) - before}
			}
		}
	})
}
