package main

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
)

// Durations of profiles in seconds. The profile of an import is shorter than other profiles, because a chunk can be imported only once and
// the profile must end with it.
const (
	profileSeconds       = 5
	importProfileSeconds = 2
)

// profile writes a CPU profile of Vitrine under a load, if the user requested profiles. The load is in addition to the measured rounds,
// because profiling would affect their results.
func (b *suite) profile(ctx context.Context, name string, list []load.Request) error {
	return b.profileRound(ctx, name, contender{report.Vitrine, func(int) (load.Result, error) {
		return b.client.Run(ctx, load.Plan{Clients: 2, Requests: list, Want: http.StatusOK})
	}})
}

// profileRound is like profile, with the first round of a contender as the load.
func (b *suite) profileRound(ctx context.Context, name string, c contender) error {
	if !b.serve.Debug {
		return nil
	}
	return b.profileLoad(ctx, name, profileSeconds, func() error {
		_, err := c.round(0)
		return err
	})
}

// profileLoad calls do repeatedly, and records a CPU profile of the given duration meanwhile. For a profile shorter than profileSeconds, it
// calls do only once.
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
