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
	err := b.keepProfile(ctx, name)
	stop()
	return errors.Join(err, <-loaded)
}

// profileDuring does something while a profile is taken; it is slower for that.
func (b *suite) profileDuring(ctx context.Context, name string, do func() error) error {
	taken := make(chan error, 1)
	go func() { taken <- b.keepProfile(ctx, name) }()
	err := do()
	return errors.Join(err, <-taken)
}

func (b *suite) keepProfile(ctx context.Context, name string) error {
	path := filepath.Join(b.profiles, name+".pprof")
	if err := b.vitrine.Profile(ctx, profileSeconds, path); err != nil {
		return fmt.Errorf("profile %s: %w", name, err)
	}
	b.say("profile of %s: %s", name, path)
	return nil
}
