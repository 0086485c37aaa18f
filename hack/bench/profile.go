package main

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
)

// How long profiles are taken for: of a load that can go on, and of one import that cannot.
const (
	profileSeconds       = 5
	importProfileSeconds = 2
)

// profile writes a processor profile of Vitrine under a load, where that was asked for and the server has one. It is taken
// apart from the rounds, which nothing may disturb.
func (b *suite) profile(ctx context.Context, name string, list []load.Request) error {
	if !b.serve.Debug {
		return nil
	}
	return b.profileLoad(ctx, name, profileSeconds, func() error {
		_, err := b.client.Run(ctx, load.Plan{Clients: 2, Requests: list, Want: http.StatusOK})
		return err
	})
}

// profileLoad does something over and over while a profile of so many seconds is taken, or once for a shorter profile.
func (b *suite) profileLoad(ctx context.Context, name string, seconds int, do func() error) error {
	path, taken := filepath.Join(b.profiles, name+".pprof"), make(chan error, 1)
	go func() {
		err := b.vitrine.Profile(ctx, seconds, path)
		if err == nil {
			b.say("profile of %s: %s", name, path)
		}
		taken <- err
	}()
	for {
		if err := do(); err != nil || seconds < profileSeconds {
			return errors.Join(err, <-taken)
		}
		select {
		case err := <-taken:
			return err
		default:
		}
	}
}
