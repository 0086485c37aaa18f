package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
)

// profileSeconds is how long a profile is taken for.
const profileSeconds = 5

// profile writes a processor profile of Vitrine under a load, where that was asked for and the server has one. It is taken
// apart from the rounds, which nothing may disturb.
func (b *suite) profile(ctx context.Context, name string, list []load.Request) error {
	if !b.serve.Debug {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	loaded := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			_, err := b.client.Run(ctx, load.Plan{
				Clients: 2, Requests: len(list), Request: func(i int) load.Request { return list[i] }, Want: http.StatusOK,
			})
			if err != nil && ctx.Err() == nil {
				loaded <- err
				return
			}
		}
		loaded <- nil
	}()
	path := filepath.Join(b.profiles, name+".pprof")
	err := b.vitrine.Profile(ctx, profileSeconds, path)
	stop()
	if err := errors.Join(err, <-loaded); err != nil {
		return fmt.Errorf("profile %s: %w", name, err)
	}
	b.say("profile of %s: %s", name, path)
	return nil
}
