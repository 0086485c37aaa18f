package main

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"syscall"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

// standing measures how much stored filters slow down an import, and the work of the first read of each filter after the import. It
// compares both with a percolator, which matches each item against all queries when the item arrives.
func (b *suite) standing(ctx context.Context) error {
	filters := b.corpus.Filters(b.scale.standingFilters)
	serve := func(name string, filters []sample.Filter) (*subject.Vitrine, error) {
		store, err := subject.NewStore(ctx, filepath.Join(b.dir, name), filters)
		if err != nil {
			return nil, err
		}
		o := b.serve
		o.Output = filepath.Join(b.dir, name+".log")
		v, err := subject.Serve(ctx, store, b.client, o)
		if err == nil {
			b.stopping = append(b.stopping, v.Child)
		}
		return v, err
	}
	without, err := serve("store-none", nil)
	if err != nil {
		return err
	}
	with, err := serve("store-many", filters)
	if err != nil {
		return err
	}
	w := b.workload(report.Standing, "Import, with and without stored filters", "items", importers, b.scale.standing)
	const turns = 10
	chunk := b.scale.standing / turns
	into := func(name string, v *subject.Vitrine) contender {
		return importer(ctx, name, v.CPU, func(round int) (load.Result, error) { return b.importVitrine(ctx, v, v.CPU, round*chunk, chunk) })
	}
	if err := b.alternate(w, turns, into(report.NoFilters, without), into(report.ManyFilters, with)); err != nil {
		return err
	}
	if err := without.Stop(syscall.SIGTERM); err != nil {
		return err
	}
	matched, err := b.firstReads(ctx, with, filters)
	if err != nil {
		return err
	}
	w = b.workload(report.Matching, "Matching of all items against 10,000 filters", "items", 1, b.scale.standing)
	w.Add(report.Vitrine, matched)
	err = with.Stop(syscall.SIGTERM)
	if err == nil && b.opensearch != nil {
		err = b.percolate(ctx, w, filters)
	}
	b.tell(w)
	return err
}

// firstReads reads every filter for the first time, one after the other. Together, these reads do the same work as a percolator: they match
// every item against every filter.
func (b *suite) firstReads(ctx context.Context, v *subject.Vitrine, filters []sample.Filter) (report.Round, error) {
	list := make([]load.Request, len(filters))
	for f := range list {
		list[f] = v.Page(f, 1)
	}
	r, err := b.client.Run(ctx, load.Plan{
		Clients: 1, Requests: list, Want: http.StatusOK, CPU: v.CPU,
	})
	if err != nil {
		return report.Round{}, err
	}
	w := b.workload(report.FirstReads, "First read of each of 10,000 filters", "requests", 1, b.scale.standing)
	w.Add(report.Vitrine, roundOf(r))
	b.tell(w)
	return report.Round{Requests: b.scale.standing, Seconds: r.Elapsed.Seconds(), CPUSeconds: r.CPU.Seconds()}, nil
}

// percolateBatch is the number of items that one request matches against the registered queries.
const percolateBatch = 20

// percolate registers the same queries in OpenSearch's percolator and sends items to it on two connections.
func (b *suite) percolate(ctx context.Context, w *report.Workload, filters []sample.Filter) error {
	queries := make([]string, len(filters))
	for i, f := range filters {
		var err error
		if queries[i], err = subject.Rewrite(f.Query, b.began); err != nil {
			return err
		}
	}
	const index = "percolator"
	if err := b.opensearch.Create(ctx, index, subject.PercolatorMapping()); err != nil {
		return err
	}
	if err := b.opensearch.Register(ctx, index, queries); err != nil {
		return err
	}
	const rounds = 3
	for round := range rounds {
		var list []load.Request
		for from := 0; from < b.scale.percolated; from += percolateBatch {
			var documents []json.RawMessage
			for i := from; i < min(from+percolateBatch, b.scale.percolated); i++ {
				documents = append(documents, b.corpus.Item(round*b.scale.percolated+i))
			}
			list = append(list, b.opensearch.Percolate(index, documents))
		}
		r, err := b.client.Run(ctx, load.Plan{
			Clients: 2, Requests: list, Want: http.StatusOK, CPU: b.opensearch.CPU,
		})
		if err != nil {
			return err
		}
		r.Requests, r.Latencies = b.scale.percolated, nil
		w.Add(report.Percolator, roundOf(r))
	}
	return nil
}
