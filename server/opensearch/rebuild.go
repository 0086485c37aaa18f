package opensearch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// rebuilder replaces indices of items that have an older schema, one after the other, while they are served. It also deletes what
// replaced indices and interrupted rebuilds leave. Every replica runs one. A claim, which is a document in the facts index, decides
// which of them works.
type rebuilder struct {
	library *Library
	times   rebuildTimes
	// seen is the last seen state of the claim, and since is when this replica first saw it.
	seen  version
	since time.Time
	// replacedAt is when this replica first saw that an index had been replaced, by UUID.
	replacedAt map[string]time.Time
}

// rebuildTimes are the times of a rebuilder. Zero values mean the defaults.
type rebuildTimes struct {
	// settle is the time from Open until the rebuilder starts. It is long enough for a rolling update, because replicas of the
	// previous version cannot write to a rebuilt index.
	settle time.Duration
	// check is the time between two searches for work, and retry the time while work is left.
	check, retry time.Duration
	// renew is the time between two renewals of the claim. A claim that is not renewed for the time expire is void. It is shorter
	// than the default timeout of requests, so that writes can outlast the crash of a replica that blocks them.
	renew, expire time.Duration
	// keep is how long a replaced index is kept for searches that began before. It is longer than snapshotTime and than the default
	// timeout of requests.
	keep time.Duration
}

func (t rebuildTimes) withDefaults() rebuildTimes {
	setDefault(&t.settle, 2*time.Minute)
	setDefault(&t.check, time.Minute)
	setDefault(&t.retry, 2*time.Second)
	setDefault(&t.renew, 3*time.Second)
	setDefault(&t.expire, 10*time.Second)
	setDefault(&t.keep, time.Minute)
	return t
}

func newRebuilder(l *Library) *rebuilder {
	return &rebuilder{library: l, times: l.options.rebuild, replacedAt: map[string]time.Time{}}
}

// run works until ctx ends.
func (r *rebuilder) run(ctx context.Context) {
	start := time.Now()
	for backoff := r.times.retry; ; {
		left, err := r.work(ctx, time.Since(start) >= r.times.settle)
		if ctx.Err() != nil {
			return
		}
		pause := r.times.check
		switch {
		case r.frozen():
			pause = r.times.retry
		case err != nil:
			r.library.options.Logger.Warn("cannot rebuild the indices of items: will try again", slog.Any("error", err), slog.Duration("in", backoff))
			pause, backoff = backoff, min(2*backoff, r.times.check)
		case left:
			pause, backoff = r.times.retry, r.times.retry
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// frozen reports whether the library is frozen. Then the rebuilder does nothing. Library.Freeze also blocks the requests of a
// rebuild that is in progress.
func (r *rebuilder) frozen() bool { return r.library.records.state.Load().frozen() != "" }

// job is something to do for the indices of a property.
type job struct {
	// rebuild is the generation to rebuild, or nil.
	rebuild *generations
	// activate is a current generation that an interrupted rebuild left without the alias for writes, or nil.
	activate *itemIndex
	// unblock is an index that an interrupted rebuild blocked and that this version cannot rebuild, or nil.
	unblock *itemIndex
	// drop are indices to delete.
	drop []string
}

// work does what there is to do, if this replica gets the claim. left is true if there is more to do soon. Until it is settled, it
// only completes rebuilds that were interrupted while they blocked writes.
func (r *rebuilder) work(ctx context.Context, settled bool) (left bool, err error) {
	if r.frozen() {
		return false, nil
	}
	jobs, left, err := r.jobs(ctx, settled)
	if err != nil || len(jobs) == 0 {
		return left, err
	}
	ctx, release, err := r.claim(ctx)
	if err != nil || release == nil {
		return true, err
	}
	defer release()
	// Another replica may have worked until now.
	if jobs, _, err = r.jobs(ctx, settled); err != nil {
		return true, err
	}
	for _, p := range slices.Sorted(maps.Keys(jobs)) {
		if failed := r.do(ctx, p, jobs[p]); failed != nil {
			err = errors.Join(err, failed)
		}
		if ctx.Err() != nil {
			return true, errors.Join(err, context.Cause(ctx))
		}
	}
	return true, err
}

func (r *rebuilder) do(ctx context.Context, p library.PropertyID, j job) error {
	if len(j.drop) > 0 {
		if err := r.library.drop(ctx, j.drop...); err != nil {
			return err
		}
	}
	if j.activate != nil {
		return r.library.alias(ctx, j.activate.activate())
	}
	if j.unblock != nil {
		return r.library.unblock(ctx, j.unblock.name)
	}
	if j.rebuild != nil {
		if err := r.library.rebuild(ctx, j.rebuild); err != nil {
			return fmt.Errorf("rebuild the index of property %s: %w", p, err)
		}
	}
	return nil
}

// jobs returns what there is to do now. left is true if there will be something to do soon.
func (r *rebuilder) jobs(ctx context.Context, settled bool) (jobs map[library.PropertyID]job, left bool, err error) {
	all, err := r.library.generations(ctx, r.library.names.everyItems())
	if err != nil {
		return nil, false, err
	}
	jobs = map[library.PropertyID]job{}
	latest := r.library.options.latest()
	for p, g := range all {
		var j job
		if g.current != nil && !g.current.active {
			j.activate = g.current
		}
		if blocked := g.current != nil && g.current.blocked && len(g.copies) > 0; !settled && !blocked && j.activate == nil {
			continue
		}
		old := g.current != nil && g.current.Schema < latest
		for _, x := range g.copies {
			switch {
			case x.Schema > latest && g.current != nil: // a newer version resumes it
				if g.current.blocked && !old {
					j.unblock = g.current
				}
			case !old || x.Schema != latest || x.Source != g.current.uuid:
				j.drop = append(j.drop, x.name)
			}
		}
		for _, x := range g.retired {
			if _, known := r.replacedAt[x.uuid]; !known {
				r.replacedAt[x.uuid] = time.Now()
			}
			if time.Since(r.replacedAt[x.uuid]) < r.times.keep {
				left = true
				continue
			}
			j.drop = append(j.drop, x.name)
		}
		if old {
			j.rebuild = g
		}
		if j.rebuild != nil || j.activate != nil || j.unblock != nil || len(j.drop) > 0 {
			jobs[p] = j
		}
	}
	return jobs, left, nil
}

// claimID is the id of the claim in the facts index.
const claimID = "rebuild"

// claim takes the claim, and renews it until the caller calls release. The returned context ends when the claim is lost. release is
// nil if another replica holds the claim.
func (r *rebuilder) claim(ctx context.Context) (held context.Context, release func(), err error) {
	at, _, err := r.claimed(ctx)
	if err != nil {
		return ctx, nil, err
	}
	if at != nil {
		if *at != r.seen {
			r.seen, r.since = *at, time.Now()
		}
		if time.Since(r.since) < r.times.expire {
			return ctx, nil, nil
		}
	}
	mine := fact{Token: rand.Text()}
	if ok, err := r.store(ctx, at, mine); err != nil || !ok {
		return ctx, nil, err
	}
	held, lose := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.NewTicker(r.times.renew)
		defer ticks.Stop()
		for {
			select {
			case <-held.Done():
				return
			case <-ticks.C:
			}
			// After an error, the next attempt may succeed. Until then, another replica that takes over does no harm.
			at, token, err := r.claimed(held)
			if err == nil && token != mine.Token {
				lose(errClaimLost)
				return
			}
			if err == nil {
				_, _ = r.store(held, at, mine)
			}
		}
	}()
	return held, func() {
		lose(nil)
		<-ended
		// A claim that cannot be released expires.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		if at, token, err := r.claimed(ctx); err == nil && token == mine.Token {
			_, _ = r.store(ctx, at, nil)
		}
	}, nil
}

var errClaimLost = errors.New("another replica has taken over the rebuild")

// claimed returns the state of the claim and its token. at is nil if there is no claim.
func (r *rebuilder) claimed(ctx context.Context) (at *version, token string, err error) {
	var found struct {
		version
		Source fact `json:"_source"`
	}
	err = r.library.cluster.do(ctx, http.MethodGet, "/"+r.library.names.facts()+"/_doc/"+claimID, nil, &found)
	if isAbsent(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("look up the claim on the rebuild: %w", err)
	}
	return &found.version, found.Source.Token, nil
}

// store replaces a state of the claim; at is nil if there is none. It returns false if the claim is in another state.
func (r *rebuilder) store(ctx context.Context, at *version, doc any) (bool, error) {
	op := operation{index: r.library.names.facts(), id: claimID, doc: doc, at: at}
	is := r.library.cluster.bulk(ctx, []operation{op}, refreshNone)[0]
	return is.err == nil && !is.conflict, is.err
}
