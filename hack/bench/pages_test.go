package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

// newestFirst is the order of boolean queries.
const newestFirst = "created_on:desc"

// filterPage names a page of a filter: filter is the rank of the filter, and page is the number of the page.
type filterPage struct{ filter, page int }

// pageLog contains, for each round, the pages to request. The rounds have different pages, so that no round benefits from the caches that
// an earlier round has filled. The log "zipf" repeats popular pages on purpose.
type pageLog [][]filterPage

// pagePlan contains the pages of all workloads.
type pagePlan struct {
	hot                        filterPage
	zipf, uniform, first, last pageLog
}

// plan chooses the pages. totals contains the number of items of each filter.
func (s *suite) plan(tb testing.TB, totals []int64) (p pagePlan) {
	tb.Helper()
	dice := rand.New(rand.NewPCG(5, 0)) // every run requests the same pages
	pagesOf := func(filter int) int { return max(1, int(totals[filter]+subject.PageSize-1)/subject.PageSize) }
	p.hot = filterPage{slices.IndexFunc(totals, func(n int64) bool { return n >= subject.PageSize }), 1}
	if p.hot.filter < 0 {
		tb.Fatalf("no filter finds %d items", subject.PageSize)
	}
	popularity := sample.NewZipf(len(totals))
	for range s.rounds {
		var zipf, uniform []filterPage
		// These rounds are the first rounds with pages of all filters, so a server that has just started accesses much of its memory for
		// the first time. The rounds are so long that most of their requests come after this warm-up.
		for range 3 * s.requests {
			f := popularity.Rank(dice.Float64())
			// Page numbers also follow Zipf's law: page k is requested about 1/k times as often as the first page.
			page := int(math.Pow(float64(pagesOf(f)+1), dice.Float64()))
			zipf = append(zipf, filterPage{f, min(max(page, 1), pagesOf(f))})
		}
		for range 2 * s.requests {
			f := dice.IntN(len(totals))
			uniform = append(uniform, filterPage{f, 1 + dice.IntN(pagesOf(f))})
		}
		p.zipf, p.uniform = append(p.zipf, zipf), append(p.uniform, uniform)
	}
	// Use only filters with enough pages for the logs "first" and "last", because each round needs another full page at the beginning and
	// at the end of each filter.
	for round := range s.rounds {
		var first, last []filterPage
		for f, total := range totals {
			if pages := int(total) / subject.PageSize; s.filters[f].Order == newestFirst && pages >= 3*s.rounds {
				first, last = append(first, filterPage{f, 1 + round}), append(last, filterPage{f, pages - round})
			}
		}
		p.first, p.last = append(p.first, first), append(p.last, last)
	}
	return p
}

// totals requests the number of items of each filter, and with it the first page.
func (s *suite) totals(tb testing.TB, v *subject.Vitrine) []int64 {
	tb.Helper()
	totals, requests := make([]int64, len(s.filters)), make([]load.Request, len(s.filters))
	for f := range requests {
		requests[f] = v.Page(f, 1)
	}
	load.Run(tb, 2, requests, http.StatusOK, func(i int, body []byte) (err error) { totals[i], err = subject.Total(body); return err })
	return totals
}

// recorded stores the hot page and the pages of the logs that choose returns for a bare server. Then it restarts Vitrine to empty its
// caches, and requests the first page of every filter once.
func (s *suite) recorded(tb testing.TB, book string, choose func(pagePlan) []pageLog) (pagePlan, *subject.Bare) {
	tb.Helper()
	p := s.plan(tb, s.totals(tb, s.vitrine))
	var list []load.Request
	seen := map[filterPage]bool{}
	for _, at := range append(slices.Concat(slices.Concat(choose(p)...)...), p.hot) {
		if !seen[at] {
			seen[at] = true
			list = append(list, s.vitrine.Page(at.filter, at.page))
		}
	}
	bare := subject.StartBare(tb, filepath.Join(s.dir, book), list, http.StatusOK)
	for _, r := range list[:min(len(list), 20)] {
		_, ours := load.Do(tb, r, http.StatusOK)
		if _, theirs := load.Do(tb, bare.At(r), http.StatusOK); !bytes.Equal(ours, theirs) {
			tb.Fatalf("the bare server does not send the same bytes as Vitrine for %s", r.URL)
		}
	}
	s.vitrine.Restart(tb, s.binary, syscall.SIGTERM, s.flags()...)
	s.totals(tb, s.vitrine)
	return p, bare
}

// urls returns the URLs of the pages of a log, for each round.
func urls(v *subject.Vitrine, l pageLog) [][]string {
	rounds := make([][]string, len(l))
	for i, round := range l {
		for _, at := range round {
			rounds[i] = append(rounds[i], v.Page(at.filter, at.page).URL)
		}
	}
	return rounds
}

// reader returns a contender that requests pages with wrk.
func reader(name string, cpu clock, header string, rounds [][]string) contender {
	return timed(name, cpu, func(tb testing.TB, round int) load.Result { return load.Wrk(tb, clients, rounds[round], header) })
}

// compared measures the pages of a log on Vitrine and on the bare server.
func (s *suite) compared(tb testing.TB, workload string, bare *subject.Bare, l pageLog) {
	tb.Helper()
	ours := urls(s.vitrine, l)
	theirs := make([][]string, len(ours))
	for i, round := range ours {
		for _, address := range round {
			theirs[i] = append(theirs[i], bare.At(load.Request{URL: address}).URL)
		}
	}
	alternate(tb, workload, len(l), reader(report.Vitrine, s.vitrine.CPU, "", ours), reader(report.Bare, bare.CPU, "", theirs))
}

// early measures pages and sizes when the library has a fifth of its items, for comparison with the complete library.
func (s *suite) early(tb testing.TB) {
	tb.Helper()
	p, bare := s.recorded(tb, "book-early", func(p pagePlan) []pageLog { return []pageLog{p.zipf} })
	s.compared(tb, "early-zipf", bare, p.zipf)
	s.size(tb, report.Vitrine, s.items/5)
	bare.Stop(tb, syscall.SIGTERM)
}

// pages measures pages of filters.
func (s *suite) pages(tb testing.TB) {
	tb.Helper()
	p, bare := s.recorded(tb, "book", func(p pagePlan) []pageLog { return []pageLog{p.zipf, p.uniform} })
	s.compared(tb, "hot", bare, slices.Repeat(pageLog{{p.hot}}, s.rounds))
	s.scoped(tb, p.hot)
	s.compared(tb, "zipf", bare, p.zipf)
	s.compared(tb, "uniform", bare, p.uniform)
	bare.Stop(tb, syscall.SIGTERM)
	if len(p.first[0]) > 0 { // in a small library, no filter is long enough
		alternate(tb, "depth", s.rounds, reader(report.FirstPage, s.vitrine.CPU, "", urls(s.vitrine, p.first)), reader(report.LastPage, s.vitrine.CPU, "", urls(s.vitrine, p.last)))
	}
	s.size(tb, report.Vitrine, s.items)
	s.cold(tb, p.uniform)
}

// scoped compares the hot page with tokens that have a query and tokens that have none.
func (s *suite) scoped(tb testing.TB, hot filterPage) {
	tb.Helper()
	of := func(scoped bool) [][]string {
		var list []string
		for _, r := range s.vitrine.FirstPages(hot.filter, scoped) {
			list = append(list, r.URL)
		}
		return slices.Repeat([][]string{slices.Repeat(list, max(1, 8*s.requests/len(list)))}, s.rounds)
	}
	alternate(tb, "scoped", s.rounds, reader(report.PlainTokens, s.vitrine.CPU, "", of(false)), reader(report.ScopedTokens, s.vitrine.CPU, "", of(true)))
}

// cold compares the processor time of pages that Vitrine compresses with that of pages that Vitrine does not compress. All pages are
// requested for the first time. In each round, one half of the pages is requested with compression, and the other half without; the halves
// alternate between the rounds.
func (s *suite) cold(tb testing.TB, l pageLog) {
	tb.Helper()
	s.vitrine.Restart(tb, s.binary, syscall.SIGTERM, s.flags()...)
	s.totals(tb, s.vitrine)
	var halves [2][][]string
	for round, list := range urls(s.vitrine, l) {
		middle := len(list) / 2
		halves[round%2] = append(halves[round%2], list[:middle])
		halves[1-round%2] = append(halves[1-round%2], list[middle:])
	}
	alternate(tb, "cold", len(l), reader(report.Identity, s.vitrine.CPU, "", halves[0]), reader(report.Gzip, s.vitrine.CPU, "Accept-Encoding: gzip", halves[1]))
}

func TestPlan(t *testing.T) {
	s := &suite{scale: scaleOf(2000), filters: sample.NewLibrary().Filters(100)}
	totals := make([]int64, 100)
	for f := range totals {
		totals[f] = int64(f * 37)
	}
	p := s.plan(t, totals)
	if totals[p.hot.filter] < 50 || p.hot.page != 1 {
		t.Errorf("the hot page is %+v", p.hot)
	}
	for name, l := range map[string]pageLog{"zipf": p.zipf, "uniform": p.uniform, "first": p.first, "last": p.last} {
		if len(l) != s.rounds {
			t.Errorf("%s: %d rounds; want %d", name, len(l), s.rounds)
		}
		for _, v := range slices.Concat(l...) {
			if v.page < 1 || v.page > 1 && int64(v.page-1)*50 >= totals[v.filter] {
				t.Fatalf("%s requests page %d of %d items", name, v.page, totals[v.filter])
			}
		}
	}
	// All pages in the logs "first" and "last" must be full, and no page may occur twice.
	seen := map[filterPage]bool{}
	for _, v := range append(slices.Concat(p.first...), slices.Concat(p.last...)...) {
		if seen[v] || int64(v.page)*50 > totals[v.filter] {
			t.Errorf("%+v of %d items", v, totals[v.filter])
		}
		seen[v] = true
	}
	if len(seen) == 0 {
		t.Error("no filter is long enough")
	}
	if !slices.EqualFunc(p.uniform, s.plan(t, totals).uniform, slices.Equal) {
		t.Error("two runs request different pages")
	}
}
