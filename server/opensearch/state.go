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
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
	"github.com/vitrine-dev/vitrine/server/opensearch/records"
)

// stateTimeout limits the requests of State. It is shorter than the default timeout of a Kubernetes probe, which is 1 s.
const stateTimeout = 600 * time.Millisecond

// State describes the library. See library.Library. The library is Ready while the cluster responds and the shared indices have working
// shards. If an index of items has no working shard or rejects writes, State reports a Trouble of its property.
func (l *Library) State(ctx context.Context) library.State {
	known := l.records.Now()
	state := library.State{
		PropertyItems: map[library.PropertyID]int64{}, Troubles: map[library.PropertyID]library.Trouble{}, Definitions: int64(known.Set.Len()),
	}
	if l.closed.Load() {
		state.Problem = "closed"
		return state
	}
	ctx, cancel := cluster.Limited(ctx, stateTimeout)
	defer cancel()
	stats, gone, all, red, blocked, err := l.ask(ctx)
	if err != nil {
		state.Problem = err.Error()
		return state
	}
	state.Ready = !slices.ContainsFunc(l.names.Shared(), func(name string) bool { return red[name] })
	l.count(&state, stats, gone, all)
	var problems []string
	recent, problem := l.recent()
	state.Ready = state.Ready && recent
	if problem != "" {
		problems = append(problems, problem)
	}
	frozen := known.Frozen().Err()
	for _, p := range slices.Sorted(maps.Keys(all)) {
		g := all[p]
		if g.Current == nil {
			continue
		}
		// Requests that change items should go to replicas whose version knows the schema.
		if err := l.indices.Schemas.Check(g.Current.Name, g.Current.Schema); err != nil {
			state.Ready, problems = false, append(problems, err.Error())
		}
		if t := l.trouble(p, g, stats, red, blocked, frozen != nil); t != (library.Trouble{}) {
			state.Troubles[p] = t
		}
		for _, name := range g.All() {
			delete(blocked, name)
			delete(red, name)
		}
	}
	for p := range known.Set.Catalogues() {
		if g := all[p]; g == nil || g.Current == nil {
			state.Troubles[p] = library.Trouble{Unserved: true, Problem: "the index " + l.names.Items(p) + " is missing: restore it from a snapshot"}
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

// recent reports whether the definitions are known to be recent, and why they cannot be read or are not recent.
func (l *Library) recent() (recent bool, problem string) {
	at, _ := l.records.Checked()
	age := time.Since(at)
	recent, problem = age < records.Trusted, l.records.Problem()
	if !recent && problem == "" {
		problem = fmt.Sprintf("the definitions were last read %s ago", age.Round(time.Millisecond))
	}
	return recent, problem
}

// ask asks the cluster for the statistics of the indices, their tombstones, their generations, the indices without a working copy of a
// shard, and the indices that reject writes, each with the reason.
func (l *Library) ask(ctx context.Context) (
	stats cluster.Stats, gone map[string]indices.Tombstones, all map[library.PropertyID]*indices.Generations, red map[string]bool,
	blocked map[string]string, err error,
) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		stats, err = l.indices.Statistics(ctx)
		return err
	})
	g.Go(func() (err error) {
		all, err = l.indices.Generations(ctx, l.names.EveryItems())
		return err
	})
	g.Go(func() (err error) {
		if red, err = l.indices.RedIndices(ctx); err == nil {
			gone, err = l.indices.Tombstones(ctx, red)
		}
		return err
	})
	g.Go(func() (err error) {
		blocked, err = l.indices.BlockedIndices(ctx)
		return err
	})
	err = g.Wait()
	return stats, gone, all, red, blocked, err
}

// trouble returns the problem of a property that has a current index, or the zero value. While the library is frozen, it rejects writes and
// rebuilds no indices, so that only a missing shard is a problem.
func (l *Library) trouble(
	p library.PropertyID, g *indices.Generations, stats cluster.Stats, red map[string]bool, blocked map[string]string, frozen bool,
) library.Trouble {
	name := g.Current.Name
	failed := l.rebuilder.Failed(p)
	switch next := g.Replacing(); {
	case red[name]:
		return library.Trouble{Unserved: true, Problem: "no working copy of a shard of " + name}
	case frozen:
		return library.Trouble{}
	case failed != nil:
		return library.Trouble{Problem: fmt.Sprintf("%v (will retry)", failed)}
	case next != nil:
		return library.Trouble{Passing: true, Problem: "rebuilding the index", Progress: fmt.Sprintf("%d %%", indices.Progress(stats, g.Current, next))}
	case blocked[name] != "":
		return library.Trouble{Problem: fmt.Sprintf("index %s rejects writes: %s", name, blocked[name])}
	}
	return library.Trouble{}
}

// count sets the numbers of items and bytes, and the version of the library. The number of bytes includes indices that are not current.
func (l *Library) count(state *library.State, stats cluster.Stats, gone map[string]indices.Tombstones, all map[library.PropertyID]*indices.Generations) {
	for _, index := range stats {
		state.DiskBytes += index.Primaries.Store.Bytes
	}
	for _, name := range l.names.Shared() {
		state.Version += uint64(stats.Operations(name))
	}
	for p, g := range all {
		if g.Current == nil {
			continue
		}
		n := max(0, stats[g.Current.Name].Primaries.Docs.Count-gone[g.Current.Name].Count)
		state.PropertyItems[p] += n
		state.Items += n
		state.Version += uint64(stats.Operations(g.Current.Name))
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
		at, changed := l.records.Checked()
		if asked.Sub(at) < records.Trusted {
			return nil
		}
		if late == nil {
			if !l.calls.waits.TryAcquire(1) {
				return fmt.Errorf("%w: %d requests are already waiting for the definitions, which is the limit", library.ErrUnavailable, waitsAtOnce)
			}
			defer l.calls.waits.Release(1)
			patience := cluster.Reconnect
			if l.records.Fails() {
				// The longer a failure lasts, the shorter a request waits, so that requests do not accumulate.
				patience = max(0, cluster.Reconnect-asked.Sub(at.Add(records.Trusted)))
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
				"so it may have missed that a token was revoked: %s", library.ErrUnavailable, time.Since(at).Round(time.Second), l.records.Problem())
		}
	}
}
