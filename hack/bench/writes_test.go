package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/child"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

// bulkLines is the number of lines in one import request.
const bulkLines = 1000

// mainIndex is the OpenSearch index of the items.
const mainIndex = "items"

// loaded imports the items into Vitrine and OpenSearch chunk by chunk, unless an earlier call has done this. After a fifth of the items, it
// measures the early stage.
func (s *suite) loaded(tb testing.TB) *suite {
	tb.Helper()
	if s.vitrine != nil {
		return s
	}
	s.filters = s.corpus.Filters(filters)
	s.vitrine = s.serve(tb, subject.NewStore(tb, filepath.Join(s.dir, "store"), s.filters))
	node := s.openSearch(tb)
	if node != nil {
		node.Create(tb, mainIndex, subject.ItemMapping())
	}
	for first := 0; first < s.items; first += s.chunk {
		takers := []contender{settling(report.Vitrine, s.vitrine.CPU, func(tb testing.TB, _ int) load.Result {
			return s.importVitrine(tb, s.vitrine, first, s.chunk)
		})}
		if node != nil {
			takers = append(takers, settling(report.OpenSearch, node.CPU, func(tb testing.TB, _ int) load.Result {
				return s.importRaw(tb, mainIndex, s.bodies(first, s.chunk, subject.BulkLine), s.chunk)
			}))
		}
		turn(tb, "bulk", first/s.chunk, takers...)
		if first+s.chunk == s.items/5 {
			s.early(tb)
		}
	}
	if node != nil {
		heap, resident := node.Memory(tb)
		measures(tb, "size", report.OpenSearch, map[report.Metric]int64{
			report.Items: int64(s.items), report.Heap: heap, report.Resident: resident, report.Disk: node.Size(tb, mainIndex),
		})
	}
	return s
}

// bodies returns the request bodies of an import, so that the measurement does not include the time to build them. line appends the line
// that precedes an item; nil means that no line precedes an item.
func (s *suite) bodies(first, count int, line func(out []byte, id int64) []byte) [][]byte {
	var list [][]byte
	for from := first; from < first+count; from += bulkLines {
		var body []byte
		for i := from; i < min(from+bulkLines, first+count); i++ {
			if line != nil {
				body = line(body, int64(sample.FirstID+i))
			}
			body = append(append(body, s.corpus.Item(i)...), '\n')
		}
		list = append(list, body)
	}
	return list
}

// importVitrine imports items over HTTP. A response means that all lines of the request are durable and visible.
func (s *suite) importVitrine(tb testing.TB, v *subject.Vitrine, first, count int) load.Result {
	tb.Helper()
	var requests []load.Request
	for _, body := range s.bodies(first, count, nil) {
		requests = append(requests, v.Bulk(body))
	}
	r := load.Run(tb, importers, requests, http.StatusOK, func(i int, body []byte) error {
		return subject.CheckBulk(body, min(bulkLines, count-i*bulkLines))
	})
	r.Requests = count
	return r
}

// importRaw sends bulk requests with count documents in total to an index. The time includes the refresh that makes the documents
// searchable.
func (s *suite) importRaw(tb testing.TB, index string, bodies [][]byte, count int) load.Result {
	tb.Helper()
	var requests []load.Request
	for _, body := range bodies {
		requests = append(requests, s.node.Bulk(index, body))
	}
	began := time.Now()
	r := load.Run(tb, importers, requests, http.StatusOK, func(_ int, body []byte) error { return subject.CheckSearchBulk(body) })
	s.node.Refresh(tb, index)
	r.Requests, r.Elapsed = count, time.Since(began)
	return r
}

// size reports the sizes of Vitrine's store and process, under the name of a series.
func (s *suite) size(tb testing.TB, series string, items int) {
	tb.Helper()
	m := s.vitrine.Memory(tb, s.vitrine.Store.Dir)
	index, indexed := subject.IndexSize(m.Files)
	measures(tb, "size", series, map[report.Metric]int64{
		report.Items: int64(items), report.Heap: int64(s.vitrine.Metric(tb, "go_memstats_heap_inuse_bytes")),
		report.Resident: m.Resident, report.Anonymous: m.Anonymous, report.File: m.File, report.Mapped: m.Mapped,
		report.Disk: child.DiskUsage(tb, s.vitrine.Store.Dir), report.Index: index / max(1, indexed),
	})
}

// restart repeatedly stops Vitrine, with SIGTERM or with SIGKILL, and starts it again. It measures the time from the start of each new
// process until that process is ready.
func (s *suite) restart(tb testing.TB) {
	tb.Helper()
	after := func(name string, sig syscall.Signal) contender {
		return contender{name, func(tb testing.TB, _ int) load.Result {
			s.vitrine.Restart(tb, s.binary, sig, s.flags()...)
			return load.Result{Requests: 1, Elapsed: s.vitrine.Ready, CPU: s.vitrine.CPU(tb)}
		}}
	}
	alternate(tb, "ready", s.restarts, after(report.Stopped, syscall.SIGTERM), after(report.Killed, syscall.SIGKILL))
}

// posts measures requests that add one item each, from many concurrent clients. Each subject responds only after the item is on disk.
func (s *suite) posts(tb testing.TB) {
	tb.Helper()
	bare := subject.StartBare(tb, filepath.Join(s.dir, "book-posts"), []load.Request{s.vitrine.Post(s.corpus.Post(0))}, http.StatusCreated)
	next := 1 // every round has different bodies
	of := func(name string, n int, cpu clock, request func(body []byte) load.Request) contender {
		return s.poster(name, posters, n, cpu, func() load.Request { next++; return request(s.corpus.Post(next)) })
	}
	contenders := []contender{
		of(report.Vitrine, s.posted, s.vitrine.CPU, s.vitrine.Post),
		of(report.Bare, s.posted, bare.CPU, func(body []byte) load.Request { return bare.At(s.vitrine.Post(body)) }),
	}
	if node := s.openSearch(tb); node != nil {
		node.Create(tb, "posts", nil)
		contenders = append(contenders, of(report.OpenSearch, s.postedOpenSearch, node.CPU, func(body []byte) load.Request { return node.Put("posts", body) }))
	}
	alternate(tb, "single", s.rounds, contenders...)
	bare.Stop(tb, syscall.SIGTERM)
}

// poster returns a contender that sends n requests in each round.
func (*suite) poster(name string, connections, n int, cpu clock, next func() load.Request) contender {
	var list []load.Request
	return contender{name, func(tb testing.TB, round int) load.Result {
		list = list[:0]
		for range n {
			list = append(list, next())
		}
		return timed(name, cpu, func(tb testing.TB, _ int) load.Result {
			return load.Run(tb, connections, list, http.StatusCreated, nil)
		}).round(tb, round)
	}}
}

// standing measures how much stored filters slow down an import, and the work of the first read of each filter after the import. Together,
// these reads do the same work as a percolator, which matches each item against all queries when the item arrives.
func (s *suite) standing(tb testing.TB) {
	tb.Helper()
	filters := s.corpus.Filters(s.standingFilters)
	without := s.serve(tb, subject.NewStore(tb, filepath.Join(s.dir, "store-none"), nil))
	with := s.serve(tb, subject.NewStore(tb, filepath.Join(s.dir, "store-many"), filters))
	const turns = 10
	into := func(name string, v *subject.Vitrine) contender {
		return settling(name, v.CPU, func(tb testing.TB, round int) load.Result {
			return s.importVitrine(tb, v, round*s.filled/turns, s.filled/turns)
		})
	}
	alternate(tb, "import", turns, into(report.NoFilters, without), into(report.ManyFilters, with))
	without.Stop(tb, syscall.SIGTERM)
	var list []load.Request
	for f := range filters {
		list = append(list, with.Page(f, 1))
	}
	var first load.Result
	reads := timed(report.Vitrine, with.CPU, func(tb testing.TB, _ int) load.Result { return load.Run(tb, 1, list, http.StatusOK, nil) })
	turn(tb, "first", 0, contender{report.Vitrine, func(tb testing.TB, round int) load.Result { first = reads.round(tb, round); return first }})
	result(tb, "match", report.Vitrine, 0, func(testing.TB) load.Result {
		return load.Result{Requests: s.filled, Elapsed: first.Elapsed, CPU: first.CPU}
	})
	with.Stop(tb, syscall.SIGTERM)
	if s.openSearch(tb) != nil {
		s.percolate(tb, filters)
	}
}

// percolateBatch is the number of items that one request matches against the registered queries.
const percolateBatch = 20

// percolate registers the same queries in OpenSearch's percolator and sends items to it on two connections.
func (s *suite) percolate(tb testing.TB, filters []sample.Filter) {
	tb.Helper()
	queries := make([]string, len(filters))
	for i, f := range filters {
		queries[i] = subject.Rewrite(tb, f.Query)
	}
	const index = "percolator"
	s.node.Create(tb, index, subject.PercolatorMapping())
	s.node.Register(tb, index, queries)
	alternate(tb, "match", 3, timed(report.Percolator, s.node.CPU, func(tb testing.TB, round int) load.Result {
		var list []load.Request
		for from := 0; from < s.percolated; from += percolateBatch {
			var documents []json.RawMessage
			for i := from; i < min(from+percolateBatch, s.percolated); i++ {
				documents = append(documents, s.corpus.Item(round*s.percolated+i))
			}
			list = append(list, s.node.Percolate(index, documents))
		}
		r := load.Run(tb, 2, list, http.StatusOK, nil)
		r.Requests, r.Quantiles = s.percolated, nil
		return r
	}))
}
