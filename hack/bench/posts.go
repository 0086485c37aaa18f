package main

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"syscall"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
)

// posts measures requests that add one item each, from many concurrent clients. Each subject responds only after the item is on disk.
func (b *suite) posts(ctx context.Context) error {
	example := b.vitrine.Post(b.corpus.Post(0))
	header, answer, err := b.client.Do(ctx, example, http.StatusCreated)
	if err != nil {
		return err
	}
	book, err := subject.NewBook(filepath.Join(b.dir, "book-posts"))
	if err == nil {
		err = errors.Join(book.Add(example, header, answer), book.Close())
	}
	if err != nil {
		return err
	}
	bare, err := b.startBare(ctx, book)
	if err != nil {
		return err
	}
	// Every round has different bodies.
	next := 1
	of := func(name string, n int, cpu func() (time.Duration, error), request func(body []byte) load.Request) contender {
		return b.sender(ctx, name, postClients, http.StatusCreated, cpu, func(int) []load.Request {
			list := make([]load.Request, n)
			for i := range list {
				list[i] = request(b.corpus.Post(next))
				next++
			}
			return list
		})
	}
	contenders := []contender{
		of(report.Vitrine, b.scale.posts, b.vitrine.CPU, b.vitrine.Post),
		of(report.Bare, b.scale.posts, bare.CPU, func(body []byte) load.Request { return bare.At(b.vitrine.Post(body)) }),
	}
	if b.opensearch != nil {
		if err := b.opensearch.Create(ctx, "posts", nil); err != nil {
			return err
		}
		contenders = append(contenders, of(report.OpenSearch, b.scale.postsOpenSearch, b.opensearch.CPU, func(body []byte) load.Request {
			return b.opensearch.Put("posts", body)
		}))
	}
	w := b.workload(report.Posts, "Single POSTs, each on disk before its response", "requests", postClients, b.scale.items)
	if err := b.alternate(w, b.scale.rounds, contenders...); err != nil {
		return err
	}
	return bare.Stop(syscall.SIGTERM)
}
