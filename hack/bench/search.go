package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

// search measures the latency of ad-hoc queries that a single client sends one after the other.
func (b *suite) search(ctx context.Context) error {
	s := b.scale
	// Before the first round, every subject runs a block of queries that no round uses, because a Java virtual machine needs a warm-up.
	booleans := b.corpus.Booleans((1 + s.rounds) * s.booleans)
	block := func(round int) []string { return booleans[(1+round)*s.booleans : (2+round)*s.booleans] }
	w := b.workload(report.Booleans, "Boolean queries sorted by date, first page, exact total, each sent for the first time", "queries", 1, s.items)
	if err := b.ask(ctx, w, s.rounds, asking{sorted: true, queries: block}); err != nil {
		return err
	}
	w = b.workload(report.BooleansKept, "The same queries, sent again", "queries", 1, s.items)
	if err := b.ask(ctx, w, s.rounds, asking{sorted: true, queries: block}); err != nil {
		return err
	}
	log := b.corpus.Ranked()
	whole := func(int) []string { return log }
	w = b.workload(report.Ranked, fmt.Sprintf("Ranked full-text queries with exact totals, a log of %d queries, after a write", sample.RankedQueries), "queries", 1, s.items)
	if err := b.ask(ctx, w, s.rounds, asking{queries: whole, before: b.writeOne}); err != nil {
		return err
	}
	w = b.workload(report.RankedKept, "The same log, sent again", "queries", 1, s.items)
	if err := b.ask(ctx, w, s.rounds, asking{queries: whole}); err != nil {
		return err
	}
	return nil
}

// writeOne adds an item that no query of the log matches. The write invalidates the results that Vitrine caches.
func (b *suite) writeOne(ctx context.Context) error {
	r := b.vitrine.Post([]byte(`{"content_type":"text","caption":"qqxqq","approval_status":"pen"}`))
	_, _, err := b.client.Do(ctx, r, http.StatusCreated)
	return err
}

// asking contains the queries of a workload and their order.
type asking struct {
	sorted  bool
	queries func(round int) []string
	// If before is not nil, it is called before each round of Vitrine.
	before func(context.Context) error
}

// newestFirst is the order of boolean queries.
const newestFirst = "created_on:desc"

func (b *suite) items(queries []string, order string) []load.Request {
	list := make([]load.Request, len(queries))
	for i, q := range queries {
		list[i] = b.vitrine.Items(q, order)
	}
	return list
}

// answers contains the results of one subject: for each query, the total number of items, and the latency in each round.
type answers struct {
	totals    map[string]int64
	latencies map[string][]time.Duration
}

func newAnswers() *answers {
	return &answers{map[string]int64{}, map[string][]time.Duration{}}
}

// note adds the results of a round.
func (a *answers) note(queries []string, totals []int64, latencies []time.Duration) {
	for i, q := range queries {
		a.totals[q] = totals[i]
		a.latencies[q] = append(a.latencies[q], latencies[i])
	}
}

// ask sends the queries of each round to every subject. It fails if the totals of subjects differ, because different totals mean that the
// subjects have not done the same work.
func (b *suite) ask(ctx context.Context, w *report.Workload, rounds int, a asking) error {
	order := ""
	if a.sorted {
		order = newestFirst
	}
	said := map[string]*answers{report.Vitrine: newAnswers(), report.OpenSearch: newAnswers()}
	over := func(name string, queries []string, list []load.Request, cpu func() (time.Duration, error), total func([]byte) (int64, error)) (load.Result, error) {
		totals := make([]int64, len(list))
		r, err := b.client.Run(ctx, load.Plan{
			Clients: 1, Requests: list, Want: http.StatusOK, CPU: cpu,
			Check: func(i int, body []byte) (err error) { totals[i], err = total(body); return err },
		})
		if err == nil {
			said[name].note(queries, totals, r.Latencies)
		}
		return r, err
	}
	contenders := []contender{{report.Vitrine, func(round int) (load.Result, error) {
		if a.before != nil {
			if err := a.before(ctx); err != nil {
				return load.Result{}, err
			}
		}
		return over(report.Vitrine, a.queries(round), b.items(a.queries(round), order), b.vitrine.CPU, subject.Total)
	}}}
	if b.opensearch != nil {
		contenders = append(contenders, contender{report.OpenSearch, func(round int) (load.Result, error) {
			list := make([]load.Request, len(a.queries(round)))
			for i, q := range a.queries(round) {
				text, err := subject.Rewrite(q, b.began)
				if err != nil {
					return load.Result{}, err
				}
				list[i] = b.opensearch.Search(mainIndex, text, a.sorted)
			}
			return over(report.OpenSearch, a.queries(round), list, b.opensearch.CPU, subject.SearchTotal)
		}})
	}
	for _, c := range contenders {
		if _, err := c.round(-1); err != nil {
			return fmt.Errorf("%s, %s: %w", w.ID, c.name, err)
		}
	}
	for name := range said {
		said[name] = newAnswers()
	}
	if err := b.alternate(w, rounds, contenders...); err != nil {
		return err
	}
	return b.agree(w, said)
}

// agree checks that subjects with the same items have the same totals. It also records the lowest ratio, over all queries, of OpenSearch's
// latency to Vitrine's latency.
func (b *suite) agree(w *report.Workload, said map[string]*answers) error {
	ours := said[report.Vitrine]
	slowest, which := math.Inf(1), ""
	for q, total := range ours.totals {
		for name, theirs := range said {
			other, asked := theirs.totals[q]
			if asked && other != total {
				return fmt.Errorf("%s: Vitrine finds %d items, %s %d", q, total, name, other)
			}
		}
		if theirs := said[report.OpenSearch].latencies[q]; len(theirs) > 0 {
			if r := float64(load.Quantile(theirs, 0.5)) / float64(load.Quantile(ours.latencies[q], 0.5)); r < slowest {
				slowest, which = r, q
			}
		}
	}
	if which != "" {
		w.SlowestRatio = slowest
		b.say("%-16s least advantage over OpenSearch: %.2f, %s (Vitrine %s)", w.ID, slowest, which, load.Quantile(ours.latencies[which], 0.5))
	}
	return nil
}
