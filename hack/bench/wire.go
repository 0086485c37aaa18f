package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
)

// wireSeconds is the length of a round with the hot page. In other rounds, it is the maximum time for all pages of the round.
const wireSeconds = 2

// wire measures pages with wrk, which leaves more of the processors to the servers.
func (b *suite) wire(ctx context.Context) error {
	wrk, err := load.NewWrk(b.dir)
	if errors.Is(err, load.ErrNoWrk) {
		b.result.Absent[report.Wrk] = err.Error()
		b.say("the comparison with wrk did not run: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	r, err := b.openPages(ctx, "book-wire", func(p pagePlan) []pageLog { return []pageLog{p.wire} })
	if err != nil {
		return err
	}
	servers := []wireServer{
		{report.Vitrine, b.vitrine.CPU, func(r load.Request) load.Request { return r }},
		{report.Bare, r.bare.CPU, r.bare.At},
	}
	for _, w := range []struct {
		id, title string
		rounds    [][]load.Request
	}{
		{report.WireHot, "Hot page of 50 items, by wrk", repeat(b.vitrine.Page(r.plan.hot.filter, r.plan.hot.page), b.scale.rounds, 1)},
		{report.WireUniform, "Random pages of 1,000 filters (uniform), by wrk", b.requests(r.plan.wire)},
	} {
		contenders := make([]contender, len(servers))
		for i, s := range servers {
			// Check once, for some pages, that all servers send the same bodies.
			if err := b.sameBodies(ctx, w.rounds[0][:min(len(w.rounds[0]), 20)], s.at); err != nil {
				return err
			}
			contenders[i] = wireSender(ctx, wrk, s, "", w.rounds)
		}
		if err := b.alternate(b.workload(w.id, w.title, "requests", clients, b.present()), len(w.rounds), contenders...); err != nil {
			return err
		}
	}
	if err := b.coldEncodings(ctx, wrk, r.plan); err != nil {
		return err
	}
	return r.bare.Stop(syscall.SIGTERM)
}

// wireServer is a server that wrk measures. at returns the request to it for a page.
type wireServer struct {
	name string
	cpu  func() (time.Duration, error)
	at   func(load.Request) load.Request
}

// wireSender returns a contender that sends the requests of each round to a server with wrk.
func wireSender(ctx context.Context, wrk *load.Wrk, s wireServer, header string, rounds [][]load.Request) contender {
	return contender{s.name, func(round int) (load.Result, error) {
		urls := make([]*url.URL, len(rounds[round]))
		for i, r := range rounds[round] {
			urls[i] = s.at(r).URL
		}
		return wrk.Run(ctx, load.WrkPlan{Clients: clients, URLs: urls, Header: header, Seconds: wireSeconds, CPU: s.cpu})
	}}
}

// sameBodies returns an error if a server sends a body that differs from Vitrine's body.
func (b *suite) sameBodies(ctx context.Context, requests []load.Request, at func(load.Request) load.Request) error {
	for _, r := range requests {
		_, want, err := b.client.Do(ctx, r, http.StatusOK)
		if err != nil {
			return err
		}
		_, body, err := b.client.Do(ctx, at(r), http.StatusOK)
		if err != nil {
			return err
		}
		if !bytes.Equal(body, want) {
			return fmt.Errorf("%s: %s sends another body than Vitrine", r.URL.Path, at(r).URL.Host)
		}
	}
	return nil
}

// coldEncodings compares the processor time of pages that Vitrine compresses with that of pages that Vitrine does not compress. All pages
// are requested for the first time. In each round, one half of the pages is requested with compression, and the other half without; the
// halves alternate between the rounds.
func (b *suite) coldEncodings(ctx context.Context, wrk *load.Wrk, plan pagePlan) error {
	if err := errors.Join(b.stopVitrine(syscall.SIGTERM), b.startVitrine(ctx)); err != nil {
		return err
	}
	if _, err := b.totals(ctx, b.vitrine); err != nil {
		return err
	}
	halves := [2][][]load.Request{}
	for round, list := range b.requests(plan.wire) {
		middle := len(list) / 2
		first, second := list[:middle], list[middle:]
		if round%2 == 1 {
			first, second = second, first
		}
		halves[0], halves[1] = append(halves[0], first), append(halves[1], second)
	}
	self := func(r load.Request) load.Request { return r }
	w := b.workload(report.ColdEncodings, "Random pages of 1,000 filters (uniform), each requested for the first time, by wrk", "requests", clients, b.present())
	return b.alternate(w, len(plan.wire),
		wireSender(ctx, wrk, wireServer{report.Identity, b.vitrine.CPU, self}, "", halves[0]),
		wireSender(ctx, wrk, wireServer{report.Gzip, b.vitrine.CPU, self}, "Accept-Encoding: gzip", halves[1]))
}
