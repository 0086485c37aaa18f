package main

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
)

// search measures the latency of ad-hoc queries that a single client sends one after the other.
func (s *suite) search(tb testing.TB) {
	tb.Helper()
	booleans := s.corpus.Booleans((1 + s.rounds) * s.booleans)
	s.ask(tb, "boolean", newestFirst, func(round int) []string { return booleans[(1+round)*s.booleans : (2+round)*s.booleans] })
	log := s.corpus.Ranked()
	s.ask(tb, "ranked", "", func(int) []string { return log })
}

// ask sends the queries of each round to Vitrine and to OpenSearch. Before the first round, both run the queries of round -1, because a Java
// virtual machine needs a warm-up. Before each round by relevance, whose queries are always the same, a write invalidates the results that
// Vitrine caches. ask fails if the totals differ, because different totals mean that the subjects have not done the same work.
func (s *suite) ask(tb testing.TB, workload, order string, queries func(round int) []string) {
	tb.Helper()
	ours, theirs := answers{}, answers{}
	contenders := []contender{asker(report.Vitrine, s.vitrine.CPU, ours, queries, subject.Total, func(tb testing.TB, q string) load.Request {
		return s.vitrine.Items(q, order)
	})}
	if order == "" {
		unwritten := contenders[0].round
		contenders[0].round = func(tb testing.TB, round int) load.Result {
			// No query of the log matches this item.
			load.Do(tb, s.vitrine.Post([]byte(`{"content_type":"text","caption":"qqxqq","approval_status":"pen"}`)), http.StatusCreated)
			return unwritten(tb, round)
		}
	}
	if node := s.openSearch(tb); node != nil {
		contenders = append(contenders, asker(report.OpenSearch, node.CPU, theirs, queries, subject.SearchTotal, func(tb testing.TB, q string) load.Request {
			return node.Search(mainIndex, subject.Rewrite(tb, q), order == newestFirst)
		}))
	}
	for _, c := range contenders {
		c.round(tb, -1)
	}
	clear(ours)
	clear(theirs)
	alternate(tb, workload, s.rounds, contenders...)
	lowest := math.Inf(1)
	for q, their := range theirs {
		if our := ours[q]; our.total != their.total {
			tb.Fatalf("%s: Vitrine finds %d items, OpenSearch %d", q, our.total, their.total)
		}
		lowest = min(lowest, float64(load.Quantiles(their.latencies)[0])/float64(load.Quantiles(ours[q].latencies)[0]))
	}
	if b, ok := tb.(*testing.B); ok && len(theirs) > 0 {
		b.Run(workload+"-each/"+report.Lowest+"/round=0", func(b *testing.B) {
			b.ReportMetric(lowest, string(report.RatioOf))
			b.ReportMetric(0, "ns/op") // removes the time
		})
	}
}

// answers contains the results of one subject by query.
type answers map[string]answer

// answer is the total number of items that a query finds, and its latency in each round.
type answer struct {
	total     int64
	latencies []time.Duration
}

// asker returns a contender that sends queries one after the other, and adds its results to said.
func asker(name string, cpu clock, said answers, queries func(int) []string, total func([]byte) (int64, error), request func(testing.TB, string) load.Request) contender {
	return timed(name, cpu, func(tb testing.TB, round int) load.Result {
		asked := queries(round)
		list, totals := make([]load.Request, len(asked)), make([]int64, len(asked))
		for i, q := range asked {
			list[i] = request(tb, q)
		}
		r := load.Run(tb, 1, list, http.StatusOK, func(i int, body []byte) (err error) { totals[i], err = total(body); return err })
		for i, q := range asked {
			said[q] = answer{totals[i], append(said[q].latencies, r.Latencies[i])}
		}
		return r
	})
}
