package opensearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vitrine-dev/vitrine/server/library"
)

// oldestVersion is the oldest version of OpenSearch that this package is tested with.
var oldestVersion = [2]int{2, 19}

// checkVersion checks the service at the URLs. It fails with library.ErrUnavailable while there is no response. It fails with
// another error if the service is not a supported OpenSearch or rejects the credentials.
func (c *cluster) checkVersion(ctx context.Context) error {
	var about struct {
		Version struct {
			Distribution string `json:"distribution"`
			Number       string `json:"number"`
		} `json:"version"`
	}
	err := c.do(ctx, http.MethodGet, "/", nil, &about)
	switch {
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
		return fmt.Errorf("this is OpenSearch %s: use %d.%d or newer", about.Version.Number, oldestVersion[0], oldestVersion[1])
	}
	return nil
}

// checkWhole refuses to open a library that has items but whose shared indices were deleted. With new shared indices, item ids
// would be assigned again, and definitions created over HTTP would be lost silently. exists is whether the shared indices exist.
func (l *Library) checkWhole(ctx context.Context) (exists bool, err error) {
	var there map[string]struct{}
	path := fmt.Sprintf("/%s,%s/_alias?ignore_unavailable=true", strings.Join(l.shared(), ","), l.names.everyItems())
	if err := l.cluster.do(ctx, http.MethodGet, path, nil, &there); err != nil {
		return false, fmt.Errorf("look up the indices: %w", err)
	}
	var missing []string
	for _, name := range l.shared() {
		if _, ok := there[name]; !ok {
			missing = append(missing, name)
		}
		delete(there, name)
	}
	if len(there) > 0 && len(missing) > 0 {
		return false, fmt.Errorf("the cluster has items of a library, but not %s: restore what is missing from a snapshot, or delete the indices %s to start with an empty library",
			strings.Join(missing, " and "), l.names.everyItems())
	}
	return len(missing) == 0, nil
}

// shared returns the indices that a library always needs.
func (l *Library) shared() []string {
	return []string{generation(l.names.definitions()), generation(l.names.facts())}
}

// stateTimeout limits the requests of State. It is shorter than the default timeout of a Kubernetes probe, which is 1 s.
const stateTimeout = 600 * time.Millisecond

// State describes the library, see library.Library. The library is Ready while the cluster responds and the shared indices have
// working shards. An index without a working shard, or that accepts no writes, is a Problem.
func (l *Library) State(ctx context.Context) library.State {
	known := l.records.state.Load()
	state := library.State{PropertyItems: map[library.PropertyID]int64{}, Definitions: int64(known.set.Len())}
	if l.closed.Load() {
		state.Problem = "closed"
		return state
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stateTimeout, &unreachableError{fmt.Errorf("no answer within %s", stateTimeout)})
	defer cancel()
	var red, blocked []string
	g, asking := errgroup.WithContext(ctx)
	g.Go(func() error { return l.count(asking, &state) })
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
	state.Ready = !slices.ContainsFunc(red, func(name string) bool { return slices.Contains(l.shared(), name) })
	var problems []string
	if problem := l.records.problem(); problem != "" {
		problems = append(problems, problem)
	}
	if len(red) > 0 {
		problems = append(problems, "no working copy of a shard of "+strings.Join(red, ", "))
	}
	if err := known.frozen().Err(); err != nil {
		blocked = []string{err.Error()}
	}
	state.Problem = strings.Join(append(problems, blocked...), "; ")
	return state
}

// count sets the numbers of items and bytes, and the version of the library.
func (l *Library) count(ctx context.Context, state *library.State) error {
	var stats struct {
		Indices map[string]struct {
			Primaries struct {
				Docs struct {
					Count int64 `json:"count"`
				} `json:"docs"`
				Store struct {
					Bytes int64 `json:"size_in_bytes"`
				} `json:"store"`
			} `json:"primaries"`
			Shards map[string][]struct {
				Routing struct {
					Primary bool `json:"primary"`
				} `json:"routing"`
				SeqNo struct {
					Max int64 `json:"max_seq_no"`
				} `json:"seq_no"`
			} `json:"shards"`
		} `json:"indices"`
	}
	path := fmt.Sprintf("/%s,%s/_stats/docs,store?level=shards", strings.Join(l.shared(), ","), l.names.everyItems())
	if err := l.cluster.do(ctx, http.MethodGet, path, nil, &stats); err != nil {
		return err
	}
	var hashed map[string]library.PropertyID
	for name, index := range stats.Indices {
		state.DiskBytes += index.Primaries.Store.Bytes
		p, ok := l.propertyOf(name)
		if !ok && hashed == nil && strings.HasPrefix(name, l.names.hashedItems()) {
			var err error
			if hashed, err = l.mappedProperties(ctx, l.names.hashedItems()+"*"); err != nil {
				return err
			}
		}
		if !ok {
			p, ok = hashed[name]
		}
		if ok {
			state.PropertyItems[p] += index.Primaries.Docs.Count
			state.Items += index.Primaries.Docs.Count
		}
		for _, copies := range index.Shards {
			for _, shard := range copies {
				if shard.Routing.Primary {
					state.Version += uint64(shard.SeqNo.Max + 1)
				}
			}
		}
	}
	return nil
}

// mappedProperties returns the properties of the indices of items that match a pattern, as recorded in their mappings.
func (l *Library) mappedProperties(ctx context.Context, pattern string) (map[string]library.PropertyID, error) {
	var found map[string]struct {
		Mappings struct {
			Meta struct {
				Property library.PropertyID `json:"property"`
			} `json:"_meta"`
		} `json:"mappings"`
	}
	if err := l.cluster.do(ctx, http.MethodGet, "/"+pattern+"/_mapping?filter_path=*.mappings._meta", nil, &found); err != nil {
		return nil, err
	}
	out := map[string]library.PropertyID{}
	for name, index := range found {
		out[name] = index.Mappings.Meta.Property
	}
	return out, nil
}

// redIndices returns the library's indices that have a shard without a working copy, sorted by name.
func (l *Library) redIndices(ctx context.Context) ([]string, error) {
	var health struct {
		Indices map[string]struct {
			Status string `json:"status"`
		} `json:"indices"`
	}
	path := "/_cluster/health/" + l.options.Prefix + "-*?level=indices&timeout=400ms"
	if err := l.cluster.do(ctx, http.MethodGet, path, nil, &health); err != nil {
		return nil, err
	}
	var red []string
	for name, index := range health.Indices {
		if index.Status == "red" && l.owns(name) {
			red = append(red, name)
		}
	}
	slices.Sort(red)
	return red, nil
}

// blockedIndices returns which of the library's indices accept no writes, and why. If the disk is full, OpenSearch makes them
// read-only.
func (l *Library) blockedIndices(ctx context.Context) ([]string, error) {
	type block struct {
		Description string   `json:"description"`
		Levels      []string `json:"levels"`
	}
	var found struct {
		Blocks struct {
			Indices map[string]map[string]block `json:"indices"`
		} `json:"blocks"`
	}
	if err := l.cluster.do(ctx, http.MethodGet, "/_cluster/state/blocks/"+l.options.Prefix+"-*", nil, &found); err != nil {
		return nil, err
	}
	var blocked []string
	for name, blocks := range found.Blocks.Indices {
		for _, b := range blocks {
			if l.owns(name) && slices.Contains(b.Levels, "write") {
				blocked = append(blocked, fmt.Sprintf("index %s rejects writes: %s", name, b.Description))
			}
		}
	}
	slices.Sort(blocked)
	return blocked, nil
}

// owns reports whether an index belongs to this library. A prefix match is not enough, because the prefix of another library may
// begin with this one.
func (l *Library) owns(index string) bool {
	return slices.Contains(l.shared(), index) || strings.HasPrefix(index, l.names.items(""))
}
