package opensearch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vitrine-dev/vitrine/server/library"
)

// oldestVersion is the oldest version of OpenSearch with which this package is tested.
var oldestVersion = [2]int{2, 19}

// checkVersion checks the service at the URLs. If the service does not respond, it fails with library.ErrUnavailable. It fails with another
// error if the service is not a supported version of OpenSearch or rejects the credentials.
func (c *cluster) checkVersion(ctx context.Context) error {
	var about service
	err := c.do(ctx, http.MethodGet, "/", nil, &about)
	switch {
	case isForeign(err):
		return errors.New("the server at the URL is not OpenSearch: check the URL")
	case hasStatus(err, http.StatusUnauthorized):
		return errors.New("OpenSearch refuses the credentials (401): check the username and the password")
	case hasStatus(err, http.StatusForbidden):
		return errors.New("OpenSearch denies access to this user (403): grant the user the permission cluster:monitor/main")
	case errors.Is(err, library.ErrUnavailable) || ctx.Err() != nil:
		return err
	case err != nil || about.Version.Distribution != "opensearch":
		return errors.New("the server at the URL is not OpenSearch: check the URL")
	}
	var is [2]int
	_, err = fmt.Sscanf(about.Version.Number, "%d.%d", &is[0], &is[1])
	if err != nil || slices.Compare(is[:], oldestVersion[:]) < 0 {
		return fmt.Errorf("OpenSearch %s is not supported: use %d.%d or newer", about.Version.Number, oldestVersion[0], oldestVersion[1])
	}
	return nil
}

// service describes what answers at a URL.
type service struct {
	Version struct {
		Distribution string `json:"distribution"`
		Number       string `json:"number"`
	} `json:"version"`
}

// lacks returns "", because checkVersion must describe services other than OpenSearch too.
func (*service) lacks() string { return "" }

// checkWhole fails if the library has items but its shared indices were deleted. With new shared indices, the library would assign item
// ids again and silently lose definitions that were created over HTTP. exists is true if the shared indices exist.
func (l *Library) checkWhole(ctx context.Context) (exists bool, err error) {
	found, err := l.healthOfIndices(ctx, "10s")
	if err != nil {
		return false, fmt.Errorf("look up the indices: %w", err)
	}
	there := found.Indices
	maps.DeleteFunc(there, func(name string, _ health) bool { return !l.owns(name) })
	var missing []string
	for _, name := range l.shared() {
		if _, ok := there[name]; !ok {
			missing = append(missing, name)
		}
		delete(there, name)
	}
	if len(there) > 0 && len(missing) > 0 {
		return false, fmt.Errorf("the cluster contains items of a library, but lacks %s: restore the missing indices from a snapshot, or delete the indices %s to start with an empty library",
			strings.Join(missing, " and "), l.names.everyItems())
	}
	return len(missing) == 0, nil
}

// shared returns the indices that every library needs.
func (l *Library) shared() []string {
	return []string{sharedIndex(l.names.definitions()), sharedIndex(l.names.facts())}
}

// stateTimeout limits the requests of State. It is shorter than the default timeout of a Kubernetes probe, which is 1 s.
const stateTimeout = 600 * time.Millisecond

// State describes the library. See library.Library. The library is Ready while the cluster responds and the shared indices have working
// shards. If an index of items has no working shard or rejects writes, State reports a Trouble of its property.
func (l *Library) State(ctx context.Context) library.State {
	known := l.records.state.Load()
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
		stats, err = l.statistics(asking)
		return err
	})
	g.Go(func() (err error) {
		all, err = l.generations(asking, l.names.everyItems())
		return err
	})
	g.Go(func() (err error) {
		red, err = l.redIndices(asking)
		return err
	})
	g.Go(func() (err error) {
		blocked, err = l.blockedIndices(asking)
		return err
	})
	if err := g.Wait(); err != nil {
		state.Problem = err.Error()
		return state
	}
	state.Ready = !slices.ContainsFunc(l.shared(), func(name string) bool { return red[name] })
	l.count(&state, stats, all)
	var problems []string
	at, _ := l.records.currency.get()
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
		if err := l.options.check(g.current); err != nil {
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
	failed, unbuilt := l.unbuilt.Load(p)
	switch next := g.replacing(); {
	case red[name]:
		return library.Trouble{Unserved: true, Problem: "no working copy of a shard of " + name}
	case frozen:
		return library.Trouble{}
	case unbuilt:
		return library.Trouble{Problem: fmt.Sprintf("%v (will retry)", failed)}
	case next != nil:
		return library.Trouble{Passing: true, Problem: "rebuilding the index", Progress: fmt.Sprintf("%d %%", stats.progress(g.current, next))}
	case blocked[name] != "":
		return library.Trouble{Problem: fmt.Sprintf("index %s rejects writes: %s", name, blocked[name])}
	}
	return library.Trouble{}
}

// indexStats holds the statistics of the library's indices, by name.
type indexStats map[string]struct {
	Primaries struct {
		Docs struct {
			Count int64 `json:"count"`
		} `json:"docs"`
		Store struct {
			Bytes int64 `json:"size_in_bytes"`
		} `json:"store"`
	} `json:"primaries"`
	UUID   string                  `json:"uuid"`
	Shards map[string][]shardStats `json:"shards"`
}

// shardStats holds the statistics of one copy of a shard.
type shardStats struct {
	Routing struct {
		Primary bool `json:"primary"`
	} `json:"routing"`
	SeqNo struct {
		Max        int64 `json:"max_seq_no"`
		Checkpoint int64 `json:"global_checkpoint"`
	} `json:"seq_no"`
	Leases struct {
		Term int64 `json:"primary_term"`
	} `json:"retention_leases"`
}

// primary returns the statistics of the primary shard of an index, or nil if there is none. Each index has one shard.
func (s indexStats) primary(index string) *shardStats {
	copies := s[index].Shards["0"]
	if i := slices.IndexFunc(copies, func(c shardStats) bool { return c.Routing.Primary }); i >= 0 {
		return &copies[i]
	}
	return nil
}

// operations returns the number of operations that an index has had.
func (s indexStats) operations(index string) int64 {
	if shard := s.primary(index); shard != nil {
		return shard.SeqNo.Max + 1
	}
	return 0
}

// checkpoint returns a sequence number up to which every copy of the shard has all operations. The actual number can be higher, because
// OpenSearch updates the checkpoint with a delay. checkpoint fails if the statistics contain no copy, for example while a node restarts.
func (s indexStats) checkpoint(index string) (int64, error) {
	copies := s[index].Shards["0"]
	if len(copies) == 0 {
		return 0, fmt.Errorf("%w: no working copy of a shard of %s", library.ErrUnavailable, index)
	}
	checkpoint := copies[0].SeqNo.Checkpoint
	for _, shard := range copies {
		checkpoint = min(checkpoint, shard.SeqNo.Checkpoint)
	}
	return checkpoint, nil
}

// progress returns the approximate percentage of an index that its copy contains.
func (s indexStats) progress(index, copied *itemIndex) int64 {
	return min(99, s.operations(copied.name)*100/max(1, s[index.name].Primaries.Docs.Count))
}

// statistics returns the statistics of all indices. It fails if a shared index is missing.
func (l *Library) statistics(ctx context.Context) (indexStats, error) {
	return l.statisticsOf(ctx, strings.Join(l.shared(), ",")+","+l.names.everyItems())
}

func (l *Library) statisticsOf(ctx context.Context, indices string) (indexStats, error) {
	var found statsOf
	err := l.cluster.do(ctx, http.MethodGet, "/"+indices+"/_stats/docs,store?level=shards", nil, &found)
	return found.Indices, err
}

// count sets the numbers of items and bytes, and the version of the library. The number of bytes includes indices that are not current.
func (l *Library) count(state *library.State, stats indexStats, all map[library.PropertyID]*generations) {
	for _, index := range stats {
		state.DiskBytes += index.Primaries.Store.Bytes
	}
	for _, name := range l.shared() {
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

// healthOfIndices returns the health of all indices whose name begins with the prefix. The library does not own all of these (see owns).
// timeout limits the time for which a node waits for the cluster manager.
func (l *Library) healthOfIndices(ctx context.Context, timeout string) (*healthOfIndices, error) {
	found := &healthOfIndices{}
	path := "/_cluster/health/" + l.options.Prefix + "-*?level=indices&timeout=" + timeout
	return found, l.cluster.do(ctx, http.MethodGet, path, nil, found)
}

// redIndices returns the names of the library's indices that have a shard without a working copy.
func (l *Library) redIndices(ctx context.Context) (map[string]bool, error) {
	found, err := l.healthOfIndices(ctx, "400ms")
	if err != nil {
		return nil, err
	}
	red := map[string]bool{}
	for name, index := range found.Indices {
		if index.Status == "red" && l.owns(name) {
			red[name] = true
		}
	}
	return red, nil
}

// blockedIndices returns the library's indices that reject writes, with the reasons. If the disk is full, OpenSearch makes indices
// read-only.
func (l *Library) blockedIndices(ctx context.Context) (map[string]string, error) {
	var found blocks
	if err := l.cluster.do(ctx, http.MethodGet, "/_cluster/state/blocks/"+l.options.Prefix+"-*", nil, &found); err != nil {
		return nil, err
	}
	blocked := map[string]string{}
	for name, blocks := range found.Blocks.Indices {
		for _, b := range blocks {
			if l.owns(name) && slices.Contains(b.Levels, "write") {
				blocked[name] = b.Description
			}
		}
	}
	return blocked, nil
}

// blocks is the response to a request for the blocks of indices.
type blocks struct {
	Blocks *struct {
		Indices map[string]map[string]struct {
			Description string   `json:"description"`
			Levels      []string `json:"levels"`
		} `json:"indices"`
	} `json:"blocks"`
}

func (a *blocks) lacks() string { return lacking(a.Blocks != nil, "blocks") }

// owns reports whether an index belongs to this library. A comparison of prefixes is not enough, because the prefix of another library
// may begin with the prefix of this library.
func (l *Library) owns(index string) bool {
	return slices.Contains(l.shared(), index) || strings.HasPrefix(index, l.names.items(""))
}
