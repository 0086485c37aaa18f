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
	"github.com/vitrine-dev/vitrine/hack/samplegen/sample"
)

// suite is a run under way: the subjects and what was measured.
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
	opensearch *subject.OpenSearch // nil where it is absent
	bleve      *subject.Bleve
	// stopping are the other servers that run now, to be stopped whatever happens.
	stopping []*child.Child
}

// clients is how many connections pages are asked for on, and how many imports are under way.
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
		return nil, fmt.Errorf("make the directory: %w", err)
	}
	if b.profiles != "" {
		if err := os.MkdirAll(b.profiles, 0o700); err != nil {
			return nil, fmt.Errorf("make the directory of profiles: %w", err)
		}
	}
	if b.binary == "" {
		b.say("building vitrine")
		if b.binary, err = subject.BuildVitrine(ctx, b.dir); err != nil {
			return nil, err
		}
	}
	b.serve = subject.ServeOptions{Binary: b.binary, Library: s.library, Flags: strings.Fields(s.flags), Output: filepath.Join(b.dir, "vitrine.log"), Debug: b.profiles != ""}
	b.result = &report.Run{
		Scale: s.scale.name, Began: b.began.UTC().Truncate(time.Second), Items: s.scale.items, Filters: filters,
		Library: s.library, Absent: map[string]string{},
	}
	b.result.Machine, b.result.Versions, err = surroundings(ctx, b.binary)
	return b, err
}

// run runs the parts. Subjects that the next parts do not need are stopped in between: what runs beside costs something
// even when nobody asks it.
func (b *suite) run(ctx context.Context) error {
	steps := []struct {
		part string
		do   func(context.Context) error
	}{
		{"", b.startPeers}, {"", b.importItems}, {partRestart, b.restart}, {partPages, b.pages}, {partSearch, b.search},
		{partPosts, b.posts}, {"", b.stopMain}, {partStanding, b.standing},
	}
	for _, s := range steps {
		if s.part != "" && !b.parts[s.part] {
			continue
		}
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	b.result.Took = time.Since(b.began).Seconds()
	return nil
}

// startPeers starts OpenSearch, if there is one.
func (b *suite) startPeers(ctx context.Context) error {
	o := b.settings.opensearch
	o.Dir = filepath.Join(b.dir, "opensearch")
	var err error
	b.opensearch, err = subject.OpenOpenSearch(ctx, b.client, o)
	if absent, ok := errors.AsType[*subject.AbsentError](err); ok {
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

// stopVitrine ends it, and gives up the connections to it.
func (b *suite) stopVitrine(sig syscall.Signal) error {
	if b.vitrine == nil {
		return nil
	}
	b.client.Close()
	err := b.vitrine.Stop(sig)
	b.vitrine = nil
	return err
}

// stopMain ends what works on the main store.
func (b *suite) stopMain(context.Context) error {
	err := b.stopVitrine(syscall.SIGTERM)
	if b.bleve != nil {
		err = errors.Join(err, b.bleve.Close())
		b.bleve = nil
	}
	return err
}

// close stops everything that still runs.
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

// workload begins a workload of the result.
func (b *suite) workload(id, title, unit string, clients, items int) *report.Workload {
	w := &report.Workload{ID: id, Title: title, Unit: unit, Clients: clients, Items: items}
	b.result.Workloads = append(b.result.Workloads, w)
	return w
}

// contender is one that takes part in alternating rounds.
type contender struct {
	name  string
	round func(round int) (load.Result, error)
}

// sender is a contender that sends the requests of each round, so many at once.
func (b *suite) sender(ctx context.Context, name string, clients, want int, cpu func() (time.Duration, error), list func(round int) []load.Request) contender {
	return contender{name, func(round int) (load.Result, error) {
		return b.client.Run(ctx, load.Plan{Clients: clients, Requests: list(round), Want: want, CPU: cpu})
	}}
}

// alternate has the contenders take turns for a number of rounds.
func (b *suite) alternate(w *report.Workload, rounds int, contenders ...contender) error {
	for round := range rounds {
		if err := turn(w, round, contenders...); err != nil {
			return err
		}
	}
	b.tell(w)
	return nil
}

// turn is one round, every other time in the opposite order, so that neither what one contender leaves behind nor a slow minute
// of the machine is always the same one's.
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

// roundOf is a result as it is kept.
func roundOf(r load.Result) report.Round {
	ms := func(q float64) float64 { return float64(load.Quantile(r.Latencies, q)) / float64(time.Millisecond) }
	return report.Round{
		Requests: r.Requests, Seconds: r.Elapsed.Seconds(), CPUSeconds: r.CPU.Seconds(), AfterSeconds: r.After.Seconds(), Bytes: r.Bytes,
		P50: ms(0.5), P95: ms(0.95), P99: ms(0.99),
	}
}

// settle waits until a server has nothing left to do, and returns what it spent meanwhile.
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
