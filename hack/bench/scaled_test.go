package main

import (
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

// Names of the libraries and of the index that the benchmark of Vitrine on OpenSearch creates.
const (
	scaledLibrary = "scaled"
	recordLibrary = "recorded"
	rawIndex      = "raw"
)

// scaledRounds is the number of rounds in which the items are imported into the library on OpenSearch.
const scaledRounds = 5

// scaled measures Vitrine with the library on OpenSearch. For imports, queries and posts, it records the requests that Vitrine sends to
// OpenSearch, and measures the same requests without Vitrine. It also compares a hot page of Vitrine on OpenSearch with the same page of
// Vitrine with the built-in engine.
func (s *suite) scaled(tb testing.TB) {
	tb.Helper()
	node := s.openSearch(tb)
	if node == nil {
		tb.Skip("DID NOT RUN: there is no OpenSearch")
	}
	s.filters = s.corpus.Filters(filters)
	through := subject.NewRecorder(tb, node)
	documents := s.recordImport(tb, through)
	prefix := node.Prefix(scaledLibrary)
	engine := s.serve(tb, subject.NewStore(tb, filepath.Join(s.dir, "store-plain"), s.filters))
	on := s.serve(tb, subject.NewStoreOn(tb, node, prefix, filepath.Join(s.dir, "store-scaled"), s.filters), node.LibraryFlags(prefix, nil)...)
	s.scaledImport(tb, on, engine, documents)
	s.scaledQueries(tb, on, through)
	s.scaledHot(tb, on, engine)
	s.scaledPosts(tb, on, documents)
	on.Stop(tb, syscall.SIGTERM)
	engine.Stop(tb, syscall.SIGTERM)
}

// recordImport imports the items into a separate library, and returns the documents that Vitrine stored for them, in the order of the
// items.
func (s *suite) recordImport(tb testing.TB, through *subject.Recorder) [][]byte {
	tb.Helper()
	prefix := s.node.Prefix(recordLibrary)
	store := subject.NewStoreOn(tb, s.node, prefix, filepath.Join(s.dir, "store-recorded"), nil)
	v := s.serve(tb, store, s.node.LibraryFlags(prefix, through)...)
	s.importVitrine(tb, v, 0, s.scaledItems)
	byID := through.Sources(tb)
	documents := make([][]byte, s.scaledItems)
	for i := range documents {
		if documents[i] = byID[strconv.Itoa(sample.FirstID+i)]; documents[i] == nil {
			tb.Fatalf("record the documents of Vitrine: item %d is missing", sample.FirstID+i)
		}
	}
	v.Stop(tb, syscall.SIGTERM)
	s.node.CreateLike(tb, rawIndex, prefix)
	return documents
}

// both returns the sum of the processor times of Vitrine and of OpenSearch.
func (s *suite) both(v *subject.Vitrine) clock {
	return func(tb testing.TB) time.Duration {
		tb.Helper()
		return v.CPU(tb) + s.node.CPU(tb)
	}
}

// scaledImport compares three imports of the same items: through Vitrine on OpenSearch, through Vitrine with the built-in engine, and
// directly into OpenSearch as the documents that Vitrine would store.
func (s *suite) scaledImport(tb testing.TB, on, engine *subject.Vitrine, documents [][]byte) {
	tb.Helper()
	chunk := s.scaledItems / scaledRounds
	into := func(name string, v *subject.Vitrine, cpu clock) contender {
		return settling(name, cpu, func(tb testing.TB, round int) load.Result { return s.importVitrine(tb, v, round*chunk, chunk) })
	}
	raw := settling(report.OpenSearch, s.node.CPU, func(tb testing.TB, round int) load.Result {
		return s.importRaw(tb, rawIndex, rawBodies(documents[round*chunk:(round+1)*chunk], round*chunk), chunk)
	})
	alternate(tb, "import", scaledRounds, into(report.Scaled, on, s.both(on)), raw, into(report.Vitrine, engine, engine.CPU))
	m := on.Memory(tb, on.Store.Dir)
	measures(tb, "size", report.Scaled, map[report.Metric]int64{
		report.Items: int64(s.scaledItems), report.Resident: m.Resident, report.Anonymous: m.Anonymous, report.File: m.File,
		report.Disk: s.node.ItemsSize(tb, s.node.Prefix(scaledLibrary)),
	})
}

// rawBodies returns the bodies of bulk requests with documents. The first document belongs to the item with the number first.
func rawBodies(documents [][]byte, first int) (bodies [][]byte) {
	for lines := range slices.Chunk(documents, bulkLines) {
		var body []byte
		for _, d := range lines {
			body = append(append(subject.BulkLine(body, int64(sample.FirstID+first)), d...), '\n')
			first++
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// scaledQueries sends queries to Vitrine one after the other. It also records the searches that Vitrine sends to OpenSearch for these
// queries, sends the same searches directly to OpenSearch, and compares the latencies.
func (s *suite) scaledQueries(tb testing.TB, on *subject.Vitrine, through *subject.Recorder) {
	tb.Helper()
	prefix := s.node.Prefix(scaledLibrary)
	booleans := s.corpus.Booleans((1 + s.rounds) * s.booleans)
	on.Restart(tb, s.binary, syscall.SIGTERM, s.flags(s.node.LibraryFlags(prefix, through)...)...)
	through.Searches() // discard the searches that Vitrine has sent at start
	var queries, searches []load.Request
	for _, q := range booleans {
		load.Do(tb, on.Items(q, newestFirst), http.StatusOK)
		bodies := slices.DeleteFunc(through.Searches(), subject.IsFollowing)
		if len(bodies) != 1 {
			tb.Fatalf("record the searches of Vitrine: %d searches for one query", len(bodies))
		}
		searches = append(searches, s.node.SearchItems(prefix, bodies[0]))
	}
	on.Restart(tb, s.binary, syscall.SIGTERM, s.flags(s.node.LibraryFlags(prefix, nil)...)...)
	for _, q := range booleans {
		queries = append(queries, on.Items(q, newestFirst))
	}
	of := func(name string, cpu clock, list []load.Request) contender {
		return timed(name, cpu, func(tb testing.TB, round int) load.Result {
			return load.Run(tb, 1, list[(1+round)*s.booleans:(2+round)*s.booleans], http.StatusOK, nil)
		})
	}
	ours, raw := of(report.Scaled, s.both(on), queries), of(report.OpenSearch, s.node.CPU, searches)
	ours.round(tb, -1) // the first block is the warm-up of both servers and belongs to no round
	raw.round(tb, -1)
	alternate(tb, "query", s.rounds, ours, raw)
}

// scaledHot compares the hot page of Vitrine on OpenSearch with the hot page of Vitrine with the built-in engine. Both libraries have the
// same items.
func (s *suite) scaledHot(tb testing.TB, on, engine *subject.Vitrine) {
	tb.Helper()
	hot := slices.Repeat(pageLog{{s.plan(tb, s.totals(tb, engine)).hot}}, s.rounds)
	alternate(tb, "hot", s.rounds, reader(report.Scaled, s.both(on), "", urls(on, hot)), reader(report.Vitrine, engine.CPU, "", urls(engine, hot)))
}

// scaledPosts posts single items to Vitrine with a few concurrent clients. It compares these requests with requests that send the documents
// of the items directly to OpenSearch.
func (s *suite) scaledPosts(tb testing.TB, on *subject.Vitrine, documents [][]byte) {
	tb.Helper()
	next := 0
	alternate(tb, "posts", s.rounds,
		s.poster(report.Scaled, clients, s.postedScaled, s.both(on), func() load.Request { next++; return on.Post(s.corpus.Post(next)) }),
		s.poster(report.OpenSearch, clients, s.postedScaled, s.node.CPU, func() load.Request { next++; return s.node.Put(rawIndex, documents[next%len(documents)]) }))
}
