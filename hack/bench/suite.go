package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/child"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/hack/opensearch/node"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

// suite is a run in progress: the subjects and the results.
type suite struct {
	settings
	parts  map[string]bool
	out    io.Writer
	began  time.Time
	client *load.Client
	corpus *sample.Library
	result *report.Run

	serve      subject.ServeOptions
	store      *subject.Store
	filters    []sample.Filter
	vitrine    *subject.Vitrine
	opensearch *subject.OpenSearch // nil if OpenSearch is absent
	// stopping contains the other running servers, so that close stops them even after an error.
	stopping []*child.Child
}

// Numbers of concurrent clients that request pages, import items and post items.
const (
	clients     = 8
	importers   = 4
	postClients = 64
)

func newSuite(ctx context.Context, s settings, out io.Writer) (*suite, error) {
	b := &suite{settings: s, out: out, began: time.Now(), corpus: sample.NewLibrary(), client: load.NewClient(postClients)}
	var err error
	if b.parts, err = chosen(s.only); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory: %w", err)
	}
	if b.binary == "" {
		b.say("building vitrine")
		if b.binary, err = subject.BuildVitrine(ctx, b.dir); err != nil {
			return nil, err
		}
	}
	b.serve = subject.ServeOptions{Binary: b.binary, Library: s.library, Flags: strings.Fields(s.flags), Output: filepath.Join(b.dir, "vitrine.log")}
	b.result = &report.Run{
		Scale: s.scale.name, Began: b.began.UTC().Truncate(time.Second), Items: s.scale.items, Filters: filters,
		Library: s.library, Absent: map[string]string{},
	}
	b.result.Machine, b.result.Versions, err = surroundings(ctx, b.binary)
	return b, err
}

// run runs the parts. Between parts, it stops subjects that the next parts do not need, because even an idle process uses memory and
// processor time.
func (b *suite) run(ctx context.Context) error {
	steps := []struct {
		part string
		do   func(context.Context) error
	}{
		{"", b.startPeers}, {"", b.importItems}, {partRestart, b.restart}, {partPages, b.pages}, {partWire, b.wire},
		{partSearch, b.search}, {partPosts, b.posts}, {"", b.stopMain}, {partStanding, b.standing},
		{partScaled, b.scaled}, {partLibraries, b.libraries},
	}
	alone := len(b.parts) == 1 && b.parts[partLibraries]
	for _, s := range steps {
		if s.part == "" && alone || s.part != "" && !b.parts[s.part] {
			continue
		}
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	b.result.Took = time.Since(b.began).Seconds()
	return nil
}

// startPeers connects to OpenSearch, or starts it if possible.
func (b *suite) startPeers(ctx context.Context) error {
	if b.settings.opensearch == "none" {
		b.result.Absent[report.OpenSearch] = "left out with -url none"
		return nil
	}
	var err error
	b.opensearch, err = subject.OpenOpenSearch(ctx, b.client, b.settings.opensearch, filepath.Join(b.dir, "opensearch"))
	if absent, ok := errors.AsType[*node.AbsentError](err); ok {
		b.result.Absent[report.OpenSearch] = absent.Reason
		b.say("%v", absent)
		return nil
	}
	if err != nil {
		return fmt.Errorf("open OpenSearch: %w", err)
	}
	b.result.Versions[report.OpenSearch] = b.opensearch.Version
	return nil
}

// startVitrine starts Vitrine on the main store.
func (b *suite) startVitrine(ctx context.Context, flags ...string) (err error) {
	o := b.serve
	o.Flags = append(o.Flags, flags...)
	b.vitrine, err = subject.Serve(ctx, b.store, b.client, o)
	return err
}

// stopVitrine stops Vitrine and closes the connections to it.
func (b *suite) stopVitrine(sig syscall.Signal) error {
	if b.vitrine == nil {
		return nil
	}
	b.client.Close()
	err := b.vitrine.Stop(sig)
	b.vitrine = nil
	return err
}

// stopMain stops the processes that use the main store.
func (b *suite) stopMain(context.Context) error {
	return b.stopVitrine(syscall.SIGTERM)
}

// close stops all processes that are still running.
func (b *suite) close(ctx context.Context) error {
	err := b.stopMain(ctx)
	for _, c := range b.stopping {
		err = errors.Join(err, c.Stop(syscall.SIGTERM))
	}
	if b.opensearch != nil {
		err = errors.Join(err, b.opensearch.Close(ctx))
	}
	b.client.Close()
	return err
}

// say prints a line with the time since the start.
func (b *suite) say(format string, args ...any) {
	fmt.Fprintf(b.out, "%6.1f s  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

// workload adds a workload to the result of the run, and returns it.
func (b *suite) workload(id, title, unit string, clients, items int) *report.Workload {
	w := &report.Workload{ID: id, Title: title, Unit: unit, Clients: clients, Items: items}
	b.result.Workloads = append(b.result.Workloads, w)
	return w
}

// contender is one of the programs, or variants of a program, that are measured in alternating rounds. round runs one round.
type contender struct {
	name  string
	round func(round int) (load.Result, error)
}

// sender returns a contender that sends the requests of each round over the given number of clients.
func (b *suite) sender(ctx context.Context, name string, clients, want int, cpu func() (time.Duration, error), list func(round int) []load.Request) contender {
	return contender{name, func(round int) (load.Result, error) {
		return b.client.Run(ctx, load.Plan{Clients: clients, Requests: list(round), Want: want, CPU: cpu})
	}}
}

// alternate runs a number of rounds. In each round, every contender runs once.
func (b *suite) alternate(w *report.Workload, rounds int, contenders ...contender) error {
	for round := range rounds {
		if err := turn(w, round, contenders...); err != nil {
			return err
		}
	}
	b.tell(w)
	return nil
}

// turn runs one round with each contender. Every other round reverses the order of the contenders, so that after-effects of a contender, or
// a slow period of the machine, do not always affect the same contender.
func turn(w *report.Workload, round int, contenders ...contender) error {
	for i := range contenders {
		if round%2 == 1 {
			i = len(contenders) - 1 - i
		}
		r, err := contenders[i].round(round)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", w.ID, contenders[i].name, err)
		}
		w.Add(contenders[i].name, roundOf(r))
	}
	return nil
}

// tell prints the medians of a workload.
func (b *suite) tell(w *report.Workload) {
	for _, s := range w.Series {
		b.say("%-16s %-22s %9.1f %s/s  %8.3f ms CPU  p50 %8.3f  p99 %8.3f ms", w.ID, s.Name, s.Median(report.PerSecond).Value, w.Unit,
			s.Median(report.CPUPerRequest).Value, s.Median(report.P50).Value, s.Median(report.P99).Value)
	}
}

// roundOf converts a result for the report.
func roundOf(r load.Result) report.Round {
	ms := func(q float64) float64 { return float64(load.Quantile(r.Latencies, q)) / float64(time.Millisecond) }
	return report.Round{
		Requests: r.Requests, Seconds: r.Elapsed.Seconds(), CPUSeconds: r.CPU.Seconds(), AfterSeconds: r.After.Seconds(), Bytes: r.Bytes,
		P50: ms(0.5), P95: ms(0.95), P99: ms(0.99),
	}
}

// settle waits until a server is idle, but at most for two minutes. It returns the processor time that the server used during the wait.
func settle(ctx context.Context, cpu func() (time.Duration, error)) (time.Duration, error) {
	const (
		look = 250 * time.Millisecond
		idle = look / 20
		most = 2 * time.Minute
	)
	tick := time.NewTicker(look)
	defer tick.Stop()
	began, err := cpu()
	last := began
	for until := time.Now().Add(most); err == nil && time.Now().Before(until); {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-tick.C:
		}
		var now time.Duration
		if now, err = cpu(); now-last < idle {
			return now - began, err
		}
		last = now
	}
	return last - began, err
}
