package main

import (
	"context"
	"net/http"
	"syscall"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
)

// posts measures single items added by many clients at once, each on disk when it is answered.
func (b *suite) posts(ctx context.Context) error {
	header, answer, err := b.client.Do(ctx, b.vitrine.Post(b.corpus.Post(0)), http.StatusCreated)
	if err != nil {
		return err
	}
	bare, err := b.startBare(ctx, nil, header, answer)
	if err != nil {
		return err
	}
	// Bodies are made ahead; every round has its own.
	next := 1
	bodies := func(n int) [][]byte {
		list := make([][]byte, n)
		for i := range list {
			list[i] = b.corpus.Post(next)
			next++
		}
		return list
	}
	of := func(name string, n int, plan load.Plan, request func(body []byte) load.Request) contender {
		return contender{name, func(int) (load.Result, error) {
			list := make([]load.Request, n)
			for i, body := range bodies(n) {
				list[i] = request(body)
			}
			plan := plan
			plan.Clients, plan.Requests, plan.Want = postClients, n, http.StatusCreated
			plan.Request = func(i int) load.Request { return list[i] }
			return b.client.Run(ctx, plan)
		}}
	}
	contenders := []contender{
		of(report.Vitrine, b.scale.posts, load.Plan{CPU: b.vitrine.CPU}, b.vitrine.Post),
		of(report.Bare, b.scale.posts, load.Plan{CPU: bare.CPU}, func(body []byte) load.Request {
			return bare.At(b.vitrine.Post(body))
		}),
	}
	if b.opensearch != nil {
		if err := b.opensearch.Create(ctx, "posts", subject.PlainIndex); err != nil {
			return err
		}
		contenders = append(contenders, of(report.OpenSearch, b.scale.postsOpenSearch, load.Plan{CPU: b.opensearch.CPU}, func(body []byte) load.Request {
			return b.opensearch.Put("posts", body)
		}))
	}
	w := b.workload(report.Posts, "Single POSTs, each durable when answered", "requests", postClients, b.scale.items)
	if err := b.alternate(w, b.scale.rounds, contenders...); err != nil {
		return err
	}
	if b.serve.Debug {
		err := b.profileLoad(ctx, "posts", func() error {
			_, err := contenders[0].round(0)
			return err
		})
		if err != nil {
			return err
		}
	}
	return bare.Stop(syscall.SIGTERM)
}
