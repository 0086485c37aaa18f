// Package upkeep contains the background tasks of a replica. Rebuilder replaces the indices of items that have an older schema, and copies
// their items while they change. Eraser removes the bytes of deleted items from the files of the cluster, and Trimmer removes the tombstones that
// they leave. Every replica runs all tasks. Claims decide which replica works.
//
// The package may import cluster, facts, indices, schema, transfer, library and item.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/facts"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// Rebuilder replaces indices of items that have an older schema, one after the other. The library serves the items during the rebuild.
// The rebuilder also deletes replaced indices, and unusable copies that interrupted rebuilds left behind. Every replica runs a rebuilder.
// A claim decides which rebuilder works.
type Rebuilder struct {
	shared
	eraser *Eraser
	times  Times
	claim  *facts.Claim
	// unbuilt contains, for each property, the error of the last rebuild by this replica, if it failed.
	unbuilt sync.Map
	// replacedAt contains, by UUID, the time at which this replica first saw that an index had been replaced.
	replacedAt map[string]time.Time
}

// New returns the background tasks of a replica. frozen returns the current freeze, or an empty string if there is none. eraseWithin is the
// maximum time that the bytes of a deleted item may stay in the files of the cluster.
func New(
	ix *indices.Indices, f *facts.Facts, frozen func() transfer.Freeze, logger *slog.Logger, eraseWithin time.Duration, journal Journal, times Times,
) (*Eraser, *Trimmer, *Rebuilder) {
	s := shared{ix, f, frozen, logger}
	e := newEraser(s, eraseWithin, times)
	return e, newTrimmer(s, journal, times), newRebuilder(s, e, times)
}

func newRebuilder(s shared, e *Eraser, times Times) *Rebuilder {
	return &Rebuilder{shared: s, eraser: e, times: times, replacedAt: map[string]time.Time{}, claim: s.facts.NewClaim(rebuildClaim, times.Renew, times.Expire)}
}

// Failed returns the error of the last rebuild of a property by this replica, or nil if it succeeded.
func (r *Rebuilder) Failed(p library.PropertyID) error {
	err, _ := r.unbuilt.Load(p)
	failed, _ := err.(error)
	return failed
}

// Run works until ctx ends. Each failure doubles the pause before the next attempt. run resets the pause when no work is left, but not when
// another replica takes the claim, because that replica may fail for the same reason.
func (r *Rebuilder) Run(ctx context.Context) {
	start := time.Now()
	for backoff := r.times.Retry; ; {
		left, err := r.work(ctx, time.Since(start) >= r.times.Settle)
		if ctx.Err() != nil {
			return
		}
		pause := r.times.Check
		switch {
		case r.frozen() != "":
			pause = r.times.Retry
		case err != nil:
			r.logger.Warn("cannot rebuild an index of items, will retry", slog.Any("error", err), slog.Duration("in", backoff))
			pause, backoff = backoff, min(2*backoff, r.times.Check)
		case left:
			pause = backoff
		default:
			backoff = r.times.Retry
		}
		if !cluster.Sleep(ctx, pause) {
			return
		}
	}
}

// job is the work on the indices of a property.
type job struct {
	// rebuild is the generation to rebuild, or nil.
	rebuild *indices.Generations
	// activate is a current generation that an interrupted rebuild left without the alias for writes, or nil.
	activate *indices.Index
	// unblock is an index that an interrupted rebuild left blocked and that this version cannot rebuild, or nil.
	unblock *indices.Index
	// drop lists the indices to delete.
	drop []string
}

// work does the current jobs if this replica gets the claim. left is true if there will soon be more work. If settled is false, work only
// completes rebuilds that were interrupted while they blocked writes.
func (r *Rebuilder) work(ctx context.Context, settled bool) (left bool, err error) {
	if r.frozen() != "" {
		return false, nil // Library.Freeze also blocks the requests of a rebuild that is in progress
	}
	jobs, left, err := r.jobs(ctx, settled)
	if err != nil || len(jobs) == 0 {
		return left, err
	}
	ctx, release, err := r.claim.Take(ctx)
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

func (r *Rebuilder) do(ctx context.Context, j job) error {
	if len(j.drop) > 0 {
		if err := r.indices.Drop(ctx, j.drop...); err != nil {
			return err
		}
	}
	if j.activate != nil {
		return r.indices.Alias(ctx, j.activate.Activate())
	}
	if j.unblock != nil {
		return r.indices.Unblock(ctx, j.unblock.Name)
	}
	if j.rebuild != nil {
		return r.rebuild(ctx, j.rebuild)
	}
	return nil
}

// rebuild replaces the current generation with one that has the latest schema.
func (r *Rebuilder) rebuild(ctx context.Context, g *indices.Generations) error {
	start := time.Now()
	c, err := beginCopy(ctx, r.shared, g)
	if err != nil {
		return err
	}
	r.logger.Info("rebuilding the index of a property", slog.String("property", string(c.from.Property)),
		slog.String("from", c.from.Name), slog.String("to", c.to.Name), slog.Int64("copied_before", c.copied))
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
	if err := r.eraser.Note(ctx, c.from.Property); err != nil {
		return err
	}
	blocked, err := c.finish(ctx)
	if err != nil {
		return err
	}
	r.indices.Forget(c.from.Property)
	r.logger.Info("rebuilt the index of a property", slog.String("property", string(c.from.Property)),
		slog.String("index", c.to.Name), slog.Duration("took", time.Since(start)), slog.Duration("writes_waited", blocked))
	return nil
}

// jobs returns the current jobs by property. left is true if there will soon be more work.
func (r *Rebuilder) jobs(ctx context.Context, settled bool) (jobs map[library.PropertyID]job, left bool, err error) {
	all, err := r.indices.Generations(ctx, r.indices.Names.EveryItems())
	if err != nil {
		return nil, false, err
	}
	jobs = map[library.PropertyID]job{}
	latest := r.indices.Schemas.Latest()
	for p, g := range all {
		var j job
		if g.Current != nil && !g.Current.Active {
			j.activate = g.Current
		}
		if blocked := g.Current != nil && g.Current.Blocked && len(g.Copies) > 0; !settled && !blocked && j.activate == nil {
			continue
		}
		old := g.Current != nil && g.Current.Schema < latest
		for _, x := range g.Copies {
			switch {
			case x.Schema > latest && g.Current != nil: // a newer version will resume it
				if g.Current.Blocked && !old {
					j.unblock = g.Current
				}
			case !old || x.Schema != latest || x.Source != g.Current.UUID:
				j.drop = append(j.drop, x.Name)
			}
		}
		for _, x := range g.Retired {
			if _, known := r.replacedAt[x.UUID]; !known {
				r.replacedAt[x.UUID] = time.Now()
			}
			if time.Since(r.replacedAt[x.UUID]) < r.times.Keep {
				left = true
				continue
			}
			j.drop = append(j.drop, x.Name)
		}
		// A rebuild waits until the retired generations are deleted. A retired generation is recognized only because the current generation
		// names it as its source. The next generation would not name it.
		if old && len(g.Retired) == 0 {
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
