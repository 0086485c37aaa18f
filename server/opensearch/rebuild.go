package opensearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// rebuilder replaces indices of items that have an older schema, one after the other. The library serves the items during the rebuild.
// The rebuilder also deletes replaced indices, and unusable copies that interrupted rebuilds left behind. Every replica runs a rebuilder.
// A claim decides which rebuilder works.
type rebuilder struct {
	shared
	eraser *eraser
	times  rebuildTimes
	claim  *claim
	// unbuilt contains, for each property, the error of the last rebuild by this replica, if it failed.
	unbuilt sync.Map
	// replacedAt contains, by UUID, the time at which this replica first saw that an index had been replaced.
	replacedAt map[string]time.Time
}

// rebuildTimes contains the intervals and time limits of a rebuilder. A zero value means the default.
type rebuildTimes struct {
	// settle is the time between Open and the start of the rebuilder. It is long enough for a rolling update, because replicas of the
	// previous version cannot write to a rebuilt index.
	settle time.Duration
	// check is the time between two searches for work. While work is left, the rebuilder uses retry instead, which is shorter.
	check, retry time.Duration
	// renew is the time between two renewals of the claim. A claim that is not renewed for the duration `expire` is void. `expire` is
	// shorter than the default timeout of requests. If a replica crashes while it blocks writes, the writes therefore wait until another
	// replica takes over, and then succeed.
	renew, expire time.Duration
	// keep is the time for which a replaced index is kept for searches that began before the replacement. It is longer than snapshotTime and
	// the default timeout of requests.
	keep time.Duration
}

func (t rebuildTimes) withDefaults() rebuildTimes {
	t.settle = cmp.Or(t.settle, 2*time.Minute)
	t.check = cmp.Or(t.check, time.Minute)
	t.retry = cmp.Or(t.retry, 2*time.Second)
	t.renew = cmp.Or(t.renew, 3*time.Second)
	t.expire = cmp.Or(t.expire, 10*time.Second)
	t.keep = cmp.Or(t.keep, time.Minute)
	return t
}

func newRebuilder(s shared, e *eraser, times rebuildTimes) *rebuilder {
	return &rebuilder{shared: s, eraser: e, times: times, replacedAt: map[string]time.Time{}, claim: s.facts.newClaim(rebuildClaim, times.renew, times.expire)}
}

// failed returns the error of the last rebuild of a property by this replica, or nil if it succeeded.
func (r *rebuilder) failed(p library.PropertyID) error {
	err, _ := r.unbuilt.Load(p)
	failed, _ := err.(error)
	return failed
}

// run works until ctx ends. Each failure doubles the pause before the next attempt. run resets the pause when no work is left, but not when
// another replica takes the claim, because that replica may fail for the same reason.
func (r *rebuilder) run(ctx context.Context) {
	start := time.Now()
	for backoff := r.times.retry; ; {
		left, err := r.work(ctx, time.Since(start) >= r.times.settle)
		if ctx.Err() != nil {
			return
		}
		pause := r.times.check
		switch {
		case r.frozen() != "":
			pause = r.times.retry
		case err != nil:
			r.logger.Warn("cannot rebuild an index of items, will retry", slog.Any("error", err), slog.Duration("in", backoff))
			pause, backoff = backoff, min(2*backoff, r.times.check)
		case left:
			pause = backoff
		default:
			backoff = r.times.retry
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

// job is the work on the indices of a property.
type job struct {
	// rebuild is the generation to rebuild, or nil.
	rebuild *generations
	// activate is a current generation that an interrupted rebuild left without the alias for writes, or nil.
	activate *itemIndex
	// unblock is an index that an interrupted rebuild left blocked and that this version cannot rebuild, or nil.
	unblock *itemIndex
	// drop lists the indices to delete.
	drop []string
}

// work does the current jobs if this replica gets the claim. left is true if there will soon be more work. If settled is false, work only
// completes rebuilds that were interrupted while they blocked writes.
func (r *rebuilder) work(ctx context.Context, settled bool) (left bool, err error) {
	if r.frozen() != "" {
		return false, nil // Library.Freeze also blocks the requests of a rebuild that is in progress
	}
	jobs, left, err := r.jobs(ctx, settled)
	if err != nil || len(jobs) == 0 {
		return left, err
	}
	ctx, release, err := r.claim.take(ctx)
	if err != nil || release == nil {
		return true, err
	}
	defer release()
	// Another replica may have worked until now, so find the jobs again.
	if jobs, _, err = r.jobs(ctx, settled); err != nil {
		return true, err
	}
	for _, p := range slices.Sorted(maps.Keys(jobs)) {
		failed := r.do(ctx, jobs[p])
		if ctx.Err() != nil {
			return true, errors.Join(err, failed, context.Cause(ctx))
		}
		r.unbuilt.Delete(p)
		if failed != nil {
			failed = fmt.Errorf("rebuild the index of property %s: %w", p, failed)
			r.unbuilt.Store(p, failed)
			err = errors.Join(err, failed)
		}
	}
	return true, err
}

func (r *rebuilder) do(ctx context.Context, j job) error {
	if len(j.drop) > 0 {
		if err := r.indices.drop(ctx, j.drop...); err != nil {
			return err
		}
	}
	if j.activate != nil {
		return r.indices.alias(ctx, j.activate.activate())
	}
	if j.unblock != nil {
		return r.indices.unblock(ctx, j.unblock.name)
	}
	if j.rebuild != nil {
		return r.rebuild(ctx, j.rebuild)
	}
	return nil
}

// rebuild replaces the current generation with one that has the latest schema.
func (r *rebuilder) rebuild(ctx context.Context, g *generations) error {
	start := time.Now()
	c, err := beginCopy(ctx, r.shared, g)
	if err != nil {
		return err
	}
	r.logger.Info("rebuilding the index of a property", slog.String("property", string(c.from.Property)),
		slog.String("from", c.from.name), slog.String("to", c.to.name), slog.Int64("copied_before", c.copied))
	for range passesAtMost {
		n, err := c.pass(ctx)
		if err != nil {
			return err
		}
		if n <= closeBehind {
			break
		}
	}
	// Find most deletions before writes are blocked, so that the block is short.
	if err := c.compare(ctx); err != nil {
		return err
	}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	// Items that were deleted during the rebuild are only hidden in the copy. The eraser must remove their bytes.
	if err := r.eraser.note(ctx, c.from.Property); err != nil {
		return err
	}
	blocked, err := c.finish(ctx)
	if err != nil {
		return err
	}
	r.indices.forget(c.from.Property)
	r.logger.Info("rebuilt the index of a property", slog.String("property", string(c.from.Property)),
		slog.String("index", c.to.name), slog.Duration("took", time.Since(start)), slog.Duration("writes_waited", blocked))
	return nil
}

// jobs returns the current jobs by property. left is true if there will soon be more work.
func (r *rebuilder) jobs(ctx context.Context, settled bool) (jobs map[library.PropertyID]job, left bool, err error) {
	all, err := r.indices.generations(ctx, r.indices.names.everyItems())
	if err != nil {
		return nil, false, err
	}
	jobs = map[library.PropertyID]job{}
	latest := r.indices.schemas.latest()
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
			case x.Schema > latest && g.current != nil: // a newer version will resume it
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
		// A rebuild waits until the retired generations are deleted. A retired generation is recognized only because the current generation
		// names it as its source. The next generation would not name it.
		if old && len(g.retired) == 0 {
			j.rebuild = g
		}
		if j.rebuild != nil || j.activate != nil || j.unblock != nil || len(j.drop) > 0 {
			jobs[p] = j
		}
	}
	r.unbuilt.Range(func(p, _ any) bool {
		if _, ok := jobs[p.(library.PropertyID)]; !ok {
			r.unbuilt.Delete(p) // another replica has completed the rebuild
		}
		return true
	})
	return jobs, left, nil
}

// rebuildClaim is the id of the claim in the facts index.
const rebuildClaim = "rebuild"
