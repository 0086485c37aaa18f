package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
	"github.com/vitrine-dev/vitrine/internal/sample"
)

// pagesSeed is fixed, so that every run requests the same pages.
const pagesSeed = 5

// filterPage names a page of a filter: filter is the rank of the filter, and page is the number of the page.
type filterPage struct{ filter, page int }

// pageLog contains, for each round, the pages to request. The rounds have different pages, so that no round benefits from the caches that
// an earlier round has filled. The log "zipf" repeats popular pages on purpose.
type pageLog [][]filterPage

// pagePlan contains the pages of all workloads.
type pagePlan struct {
	hot                              filterPage
	zipf, uniform, wire, first, last pageLog
}

// planPages chooses the pages. totals contains the number of items of each filter.
func (b *suite) planPages(totals []int64) (pagePlan, error) {
	s := b.scale
	dice := rand.New(rand.NewPCG(pagesSeed, 0))
	pagesOf := func(filter int) int { return max(1, int(totals[filter]+subject.PageSize-1)/subject.PageSize) }
	var p pagePlan
	p.hot.filter = slices.IndexFunc(totals, func(n int64) bool { return n >= subject.PageSize })
	p.hot.page = 1
	if p.hot.filter < 0 {
		return p, fmt.Errorf("no filter finds %d items", subject.PageSize)
	}
	popularity := sample.NewZipf(len(totals))
	for range s.rounds {
		var zipf []filterPage
		// These rounds are the first rounds with pages of all filters, so a server that has just started accesses much of its memory for
		// the first time. The rounds are so long that most of their requests come after this warm-up.
		for range 3 * s.requests {
			f := popularity.Rank(dice.Float64())
			// Page numbers also follow Zipf's law: page k is requested about 1/k times as often as the first page.
			page := int(math.Pow(float64(pagesOf(f)+1), dice.Float64()))
			zipf = append(zipf, filterPage{f, min(max(page, 1), pagesOf(f))})
		}
		random := func(n int) (list []filterPage) {
			for range n {
				f := dice.IntN(len(totals))
				list = append(list, filterPage{f, 1 + dice.IntN(pagesOf(f))})
			}
			return list
		}
		p.zipf, p.uniform, p.wire = append(p.zipf, zipf), append(p.uniform, random(s.requests)), append(p.wire, random(2*s.requests))
	}
	// Use only filters with enough pages for the logs "first" and "last", because each round needs another full page at the beginning and
	// at the end of each filter.
	var long []int
	for f, total := range totals {
		if b.filters[f].Order == newestFirst && int(total)/subject.PageSize >= 3*s.rounds {
			long = append(long, f)
		}
	}
	for round := range s.rounds {
		var first, last []filterPage
		for _, f := range long {
			first = append(first, filterPage{f, 1 + round})
			last = append(last, filterPage{f, int(totals[f])/subject.PageSize - round})
		}
		p.first, p.last = append(p.first, first), append(p.last, last)
	}
	return p, nil
}

// totals requests the number of items of each filter.
func (b *suite) totals(ctx context.Context, v *subject.Vitrine) ([]int64, error) {
	totals := make([]int64, len(b.filters))
	requests := make([]load.Request, len(b.filters))
	for f := range requests {
		requests[f] = v.Page(f, 1)
	}
	_, err := b.client.Run(ctx, load.Plan{
		Clients: 2, Requests: requests, Want: http.StatusOK,
		Check: func(i int, body []byte) (err error) { totals[i], err = subject.Total(body); return err },
	})
	return totals, err
}

// record requests the hot page and every page of the logs from Vitrine, and stores the responses for the bare server.
func (b *suite) record(ctx context.Context, name string, hot filterPage, logs ...pageLog) (*subject.Book, error) {
	book, err := subject.NewBook(filepath.Join(b.dir, name))
	if err != nil {
		return nil, err
	}
	hotPage := b.vitrine.Page(hot.filter, hot.page)
	list := []load.Request{hotPage, zipped(hotPage)}
	seen := map[filterPage]bool{hot: true}
	for _, v := range slices.Concat(slices.Concat(logs...)...) {
		if !seen[v] {
			seen[v] = true
			list = append(list, b.vitrine.Page(v.filter, v.page))
		}
	}
	// Two requests run concurrently. The lock is necessary because Book is not safe for concurrent use.
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for _, r := range list {
		group.Go(func() error {
			header, body, err := b.client.Do(ctx, r, http.StatusOK)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			return book.Add(r, header, body)
		})
	}
	if err := errors.Join(group.Wait(), book.Close()); err != nil {
		return nil, fmt.Errorf("record pages: %w", err)
	}
	b.say("recorded %d pages, %d MiB", len(list), book.Bytes()>>20)
	return book, nil
}

// zipped returns a copy of a request with the header of a client that accepts gzip.
func zipped(r load.Request) load.Request {
	r.Header = http.Header{"Accept-Encoding": {"gzip"}}
	return r
}

// startBare starts the bare server with a book.
func (b *suite) startBare(ctx context.Context, book *subject.Book) (*subject.Bare, error) {
	bare, err := subject.StartBare(ctx, b.dir, book)
	if err == nil {
		b.stopping = append(b.stopping, bare.Child)
	}
	return bare, err
}

// pageRounds measures rounds of pages on both servers.
func (b *suite) pageRounds(ctx context.Context, bare *subject.Bare, id, title string, want int, rounds [][]load.Request) error {
	w := b.workload(id, title, "requests", clients, b.present())
	err := b.alternate(w, len(rounds),
		b.sender(ctx, report.Vitrine, clients, want, b.vitrine.CPU, func(round int) []load.Request { return rounds[round] }),
		b.sender(ctx, report.Bare, clients, want, bare.CPU, func(round int) []load.Request {
			list := make([]load.Request, len(rounds[round]))
			for i, r := range rounds[round] {
				list[i] = bare.At(r)
			}
			return list
		}))
	if err != nil {
		return err
	}
	for i, r := range w.Find(report.Vitrine).Rounds {
		if other := w.Find(report.Bare).Rounds[i]; other.Bytes != r.Bytes {
			return fmt.Errorf("%s, round %d: Vitrine sent %d bytes, the bare server %d", w.ID, i, r.Bytes, other.Bytes)
		}
	}
	return nil
}

// hotRounds returns rounds of the hot page.
func (b *suite) hotRounds(plan pagePlan) [][]load.Request {
	return repeat(b.vitrine.Page(plan.hot.filter, plan.hot.page), b.scale.rounds, 8*b.scale.requests)
}

// repeat returns rounds that repeat one request.
func repeat(r load.Request, rounds, requests int) [][]load.Request {
	list := make([][]load.Request, rounds)
	for i := range list {
		list[i] = slices.Repeat([]load.Request{r}, requests)
	}
	return list
}

// requests returns the requests of a log.
func (b *suite) requests(l pageLog) [][]load.Request {
	list := make([][]load.Request, len(l))
	for i, round := range l {
		for _, v := range round {
			list[i] = append(list[i], b.vitrine.Page(v.filter, v.page))
		}
	}
	return list
}

// earlyStage measures pages and sizes when the library has a fifth of its items, for comparison with the complete library.
func (b *suite) earlyStage(ctx context.Context) error {
	r, err := b.openPages(ctx, "book-early", func(p pagePlan) []pageLog { return []pageLog{p.zipf} })
	if err != nil {
		return err
	}
	if err := b.pageRounds(ctx, r.bare, report.EarlyHot, "Hot page, with a fifth of the items", http.StatusOK, b.hotRounds(r.plan)); err != nil {
		return err
	}
	if err := b.pageRounds(ctx, r.bare, report.EarlyZipf, "Random pages of 1,000 filters (Zipf-distributed), with a fifth of the items", http.StatusOK, b.requests(r.plan.zipf)); err != nil {
		return err
	}
	if err := b.stage(ctx, b.scale.early()); err != nil {
		return err
	}
	return r.bare.Stop(syscall.SIGTERM)
}

// recorded contains pages of Vitrine that were recorded in a book, and the bare server that serves the book.
type recorded struct {
	plan pagePlan
	book *subject.Book
	bare *subject.Bare
}

// openPages records the pages of some logs, and restarts Vitrine to empty its caches. It then starts a bare server, and requests the first
// page of every filter from Vitrine once.
func (b *suite) openPages(ctx context.Context, name string, logs func(pagePlan) []pageLog) (r recorded, err error) {
	totals, err := b.totals(ctx, b.vitrine)
	if err != nil {
		return r, err
	}
	if r.plan, err = b.planPages(totals); err != nil {
		return r, err
	}
	if r.book, err = b.record(ctx, name, r.plan.hot, logs(r.plan)...); err != nil {
		return r, err
	}
	if err := errors.Join(b.stopVitrine(syscall.SIGTERM), b.startVitrine(ctx)); err != nil {
		return r, err
	}
	if r.bare, err = b.startBare(ctx, r.book); err != nil {
		return r, err
	}
	_, err = b.totals(ctx, b.vitrine)
	return r, err
}

// present returns the number of items in the store.
func (b *suite) present() int {
	if len(b.result.Stages) == 0 && b.result.Workload(report.Imports).Find(report.Vitrine) != nil {
		return len(b.result.Workload(report.Imports).Find(report.Vitrine).Rounds) * b.scale.chunk
	}
	return b.scale.items
}

// pages runs all measurements of pages of filters.
func (b *suite) pages(ctx context.Context) error {
	r, err := b.openPages(ctx, "book", func(p pagePlan) []pageLog { return []pageLog{p.zipf, p.uniform} })
	if err != nil {
		return err
	}
	hot := b.vitrine.Page(r.plan.hot.filter, r.plan.hot.page)
	header, _, err := b.client.Do(ctx, hot, http.StatusOK)
	if err != nil {
		return err
	}
	held := hot
	held.Header = http.Header{"If-None-Match": {header.Get("ETag")}}
	for _, w := range []struct {
		id, title string
		want      int
		rounds    [][]load.Request
	}{
		{report.HotPages, "Hot page of 50 items", http.StatusOK, b.hotRounds(r.plan)},
		{report.ZippedPages, "Hot page, gzip", http.StatusOK, repeat(zipped(hot), b.scale.rounds, b.scale.requests)},
		{report.HeldPages, "Hot page that the client has cached (304)", http.StatusNotModified, repeat(held, b.scale.rounds, 2*b.scale.requests)},
		{report.ZipfPages, "Random pages of 1,000 filters (Zipf-distributed)", http.StatusOK, b.requests(r.plan.zipf)},
		{report.UniformPages, "Random pages of 1,000 filters (uniform)", http.StatusOK, b.requests(r.plan.uniform)},
	} {
		if err := b.pageRounds(ctx, r.bare, w.id, w.title, w.want, w.rounds); err != nil {
			return err
		}
	}
	if err := b.depths(ctx, r.plan); err != nil {
		return err
	}
	if err := b.stage(ctx, b.scale.items); err != nil {
		return err
	}
	if err := b.quietPages(ctx, r.bare, r.plan); err != nil {
		return err
	}
	return r.bare.Stop(syscall.SIGTERM)
}

// depths compares the first pages of long filters with their last pages.
func (b *suite) depths(ctx context.Context, plan pagePlan) error {
	first, last := b.requests(plan.first), b.requests(plan.last)
	if len(first[0]) == 0 {
		b.say("no filter is long enough to compare its last pages with its first")
		return nil
	}
	of := func(name string, rounds [][]load.Request) contender {
		return b.sender(ctx, name, clients, http.StatusOK, b.vitrine.CPU, func(round int) []load.Request { return rounds[round] })
	}
	w := b.workload(report.Depths, "Last pages compared with first pages, in the default order", "requests", clients, b.scale.items)
	return b.alternate(w, len(first), of(report.FirstPage, first), of(report.LastPage, last))
}

// quietPages measures the hot page again without a log line for each request.
func (b *suite) quietPages(ctx context.Context, bare *subject.Bare, plan pagePlan) error {
	if err := errors.Join(b.stopVitrine(syscall.SIGTERM), b.startVitrine(ctx, "--log-level", "warn")); err != nil {
		return err
	}
	if err := b.pageRounds(ctx, bare, report.QuietPages, "Hot page of 50 items, with --log-level warn", http.StatusOK, b.hotRounds(plan)); err != nil {
		return err
	}
	return errors.Join(b.stopVitrine(syscall.SIGTERM), b.startVitrine(ctx))
}
