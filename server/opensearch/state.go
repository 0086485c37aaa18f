package opensearch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vitrine-dev/vitrine/server/library"
)

// stateTimeout limits the requests of State. It is shorter than the default timeout of a Kubernetes probe, which is 1 s.
const stateTimeout = 600 * time.Millisecond

// State describes the library. See library.Library. The library is Ready while the cluster responds and the shared indices have working
// shards. If an index of items has no working shard or rejects writes, State reports a Trouble of its property.
func (l *Library) State(ctx context.Context) library.State {
	known := l.records.now()
	state := library.State{
		PropertyItems: map[library.PropertyID]int64{}, Troubles: map[library.PropertyID]library.Trouble{}, Definitions: int64(known.set.Len()),
	}
	if l.closed.Load() {
		state.Problem = "closed"
		return state
	}
	ctx, cancel := limited(ctx, stateTimeout)
	defer cancel()
	var stats indexStats
	var red map[string]bool
	var blocked map[string]string
	var all map[library.PropertyID]*generations
	g, asking := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		stats, err = l.indices.statistics(asking)
		return err
	})
	g.Go(func() (err error) {
		all, err = l.indices.generations(asking, l.names.everyItems())
		return err
	})
	g.Go(func() (err error) {
		red, err = l.indices.redIndices(asking)
		return err
	})
	g.Go(func() (err error) {
		blocked, err = l.indices.blockedIndices(asking)
		return err
	})
	if err := g.Wait(); err != nil {
		state.Problem = err.Error()
		return state
	}
	state.Ready = !slices.ContainsFunc(l.names.shared(), func(name string) bool { return red[name] })
	l.count(&state, stats, all)
	var problems []string
	at, _ := l.records.checked()
	age := time.Since(at)
	state.Ready = state.Ready && age < trusted
	if problem := l.records.problem(); problem != "" {
		problems = append(problems, problem)
	} else if age >= trusted {
		problems = append(problems, fmt.Sprintf("the definitions were last read %s ago", age.Round(time.Millisecond)))
	}
	frozen := known.frozen().Err()
	for _, p := range slices.Sorted(maps.Keys(all)) {
		g := all[p]
		if g.current == nil {
			continue
		}
		// Requests that change items should go to replicas whose version knows the schema.
		if err := l.indices.schemas.check(g.current.name, g.current.Schema); err != nil {
			state.Ready, problems = false, append(problems, err.Error())
		}
		if t := l.trouble(p, g, stats, red, blocked, frozen != nil); t != (library.Trouble{}) {
			state.Troubles[p] = t
		}
		for _, name := range g.all() {
			delete(blocked, name)
			delete(red, name)
		}
	}
	for p := range known.set.Catalogues() {
		if g := all[p]; g == nil || g.current == nil {
			state.Troubles[p] = library.Trouble{Unserved: true, Problem: "the index " + l.names.items(p) + " is missing: restore it from a snapshot"}
		}
	}
	if len(red) > 0 {
		problems = append(problems, "no working copy of a shard of "+strings.Join(slices.Sorted(maps.Keys(red)), ", "))
	}
	if frozen != nil {
		problems, blocked = append(problems, frozen.Error()), nil
	}
	for _, name := range slices.Sorted(maps.Keys(blocked)) {
		problems = append(problems, fmt.Sprintf("index %s rejects writes: %s", name, blocked[name]))
	}
	state.Problem = strings.Join(problems, "; ")
	return state
}

// trouble returns the problem of a property that has a current index, or the zero value. While the library is frozen, it rejects writes and
// rebuilds no indices, so that only a missing shard is a problem.
func (l *Library) trouble(
	p library.PropertyID, g *generations, stats indexStats, red map[string]bool, blocked map[string]string, frozen bool,
) library.Trouble {
	name := g.current.name
	failed := l.rebuilder.failed(p)
	switch next := g.replacing(); {
	case red[name]:
		return library.Trouble{Unserved: true, Problem: "no working copy of a shard of " + name}
	case frozen:
		return library.Trouble{}
	case failed != nil:
		return library.Trouble{Problem: fmt.Sprintf("%v (will retry)", failed)}
	case next != nil:
		return library.Trouble{Passing: true, Problem: "rebuilding the index", Progress: fmt.Sprintf("%d %%", progress(stats, g.current, next))}
	case blocked[name] != "":
		return library.Trouble{Problem: fmt.Sprintf("index %s rejects writes: %s", name, blocked[name])}
	}
	return library.Trouble{}
}

// count sets the numbers of items and bytes, and the version of the library. The number of bytes includes indices that are not current.
func (l *Library) count(state *library.State, stats indexStats, all map[library.PropertyID]*generations) {
	for _, index := range stats {
		state.DiskBytes += index.Primaries.Store.Bytes
	}
	for _, name := range l.names.shared() {
		state.Version += uint64(stats.operations(name))
	}
	for p, g := range all {
		if g.current == nil {
			continue
		}
		n := stats[g.current.name].Primaries.Docs.Count
		state.PropertyItems[p] += n
		state.Items += n
		state.Version += uint64(stats.operations(g.current.name))
	}
}

// Current waits until the definitions are known to be recent. See library.Follower.
func (l *Library) Current(ctx context.Context) error {
	asked := time.Now()
	var late <-chan time.Time
	for {
		if err := l.alive(ctx); err != nil {
			return err
		}
		at, changed := l.records.checked()
		if asked.Sub(at) < trusted {
			return nil
		}
		if late == nil {
			if !l.calls.waits.TryAcquire(1) {
				return fmt.Errorf("%w: %d requests are already waiting for the definitions, which is the limit", library.ErrUnavailable, waitsAtOnce)
			}
			defer l.calls.waits.Release(1)
			patience := reconnect
			if l.records.fails() {
				// The longer a failure lasts, the shorter a request waits, so that requests do not accumulate.
				patience = max(0, reconnect-asked.Sub(at.Add(trusted)))
			}
			timer := time.NewTimer(patience)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			return fmt.Errorf("%w: for %s, this replica has been unable to read the definitions, "+
				"so it may have missed that a token was revoked: %s", library.ErrUnavailable, time.Since(at).Round(time.Second), l.records.problem())
		}
	}
}
