package indices

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
)

// Progress returns the approximate percentage of an index that its copy contains.
func Progress(s cluster.Stats, index, copied *Index) int64 {
	return min(99, s.Operations(copied.Name)*100/max(1, s[index.Name].Primaries.Docs.Count))
}

// Statistics returns the statistics of all indices. It fails if a shared index is missing.
func (ix *Indices) Statistics(ctx context.Context) (cluster.Stats, error) {
	return ix.StatisticsOf(ctx, ix.Names.EveryIndex())
}

// StatisticsOf returns the statistics of indices, whose names are separated by commas.
func (ix *Indices) StatisticsOf(ctx context.Context, indices string) (cluster.Stats, error) {
	var found cluster.StatsOf
	err := ix.Cluster.Do(ctx, http.MethodGet, "/"+indices+"/_stats/docs,store?level=shards", nil, &found)
	return found.Indices, err
}

// Tombstones describes the documents of an index that are not items.
type Tombstones struct {
	Count int64
	// Oldest is the time of the first deletion, in milliseconds.
	Oldest int64
}

// Tombstones describes the tombstones of those indices of items that have some. It leaves out the red indices, which have no working shard:
// OpenSearch refuses a search if none of its shards works.
func (ix *Indices) Tombstones(ctx context.Context, red map[string]bool) (map[string]Tombstones, error) {
	var found tombstonesOf
	path := "/" + ix.Names.EveryItems()
	for _, name := range slices.Sorted(maps.Keys(red)) {
		path += ",-" + name
	}
	path += "/_search?allow_partial_search_results=true&allow_no_indices=true&ignore_unavailable=true"
	err := ix.Cluster.Do(ctx, http.MethodPost, path, object{
		"size": 0, "track_total_hits": false, "query": schema.Tombstones(), "aggs": object{"indices": object{
			"terms": object{"field": "_index", "size": indicesAtMost}, "aggs": object{"oldest": object{"min": object{"field": schema.FieldGone}}},
		}},
	}, &found)
	if err != nil {
		return nil, fmt.Errorf("count the deleted items: %w", err)
	}
	out := map[string]Tombstones{}
	for _, b := range found.Aggregations.Indices.Buckets {
		out[b.Key] = Tombstones{b.Count, int64(b.Oldest.Value)}
	}
	return out, nil
}

// indicesAtMost is more than the number of indices of items in a cluster.
const indicesAtMost = 50_000

// tombstonesOf is the response to a search for the numbers of tombstones. If it searched no index, it has no aggregations.
type tombstonesOf struct {
	cluster.Searched
	Aggregations struct {
		Indices struct {
			Buckets []struct {
				Key    string `json:"key"`
				Count  int64  `json:"doc_count"`
				Oldest struct {
					Value float64 `json:"value"`
				} `json:"oldest"`
			} `json:"buckets"`
		} `json:"indices"`
	} `json:"aggregations"`
}

func (a *tombstonesOf) Lacks() string {
	return cmp.Or(a.InTime(), cluster.Lacking(a.Shards != nil, "_shards"),
		cluster.Lacking(a.Shards == nil || a.Shards.Total == 0 || a.Aggregations.Indices.Buckets != nil, "aggregations"))
}

// CheckWhole fails if the library has items but its shared indices were deleted. With new shared indices, the library would assign item
// ids again and silently lose definitions that were created over HTTP. exists is true if the shared indices exist.
func (ix *Indices) CheckWhole(ctx context.Context) (exists bool, err error) {
	found, err := ix.healthOfIndices(ctx, "10s")
	if err != nil {
		return false, fmt.Errorf("look up the indices: %w", err)
	}
	there := found.Indices
	maps.DeleteFunc(there, func(name string, _ cluster.Health) bool { return !ix.Names.Owns(name) })
	var missing []string
	for _, name := range ix.Names.Shared() {
		if _, ok := there[name]; !ok {
			missing = append(missing, name)
		}
		delete(there, name)
	}
	if len(there) > 0 && len(missing) > 0 {
		return false, fmt.Errorf("the cluster contains items of a library, but lacks %s: restore the missing indices from a snapshot, or delete the indices %s to start with an empty library",
			strings.Join(missing, " and "), ix.Names.EveryItems())
	}
	return len(missing) == 0, nil
}

// healthOfIndices returns the health of all indices whose name begins with the prefix. The library does not own all of these (see
// schema.Names.Owns). timeout limits the time for which a node waits for the cluster manager.
func (ix *Indices) healthOfIndices(ctx context.Context, timeout string) (*cluster.HealthOfIndices, error) {
	found := &cluster.HealthOfIndices{}
	path := "/_cluster/health/" + ix.Names.Prefix + "-*?level=indices&timeout=" + timeout
	return found, ix.Cluster.Do(ctx, http.MethodGet, path, nil, found)
}

// RedIndices returns the names of the library's indices that have a shard without a working copy.
func (ix *Indices) RedIndices(ctx context.Context) (map[string]bool, error) {
	found, err := ix.healthOfIndices(ctx, "400ms")
	if err != nil {
		return nil, err
	}
	red := map[string]bool{}
	for name, index := range found.Indices {
		if index.Status == "red" && ix.Names.Owns(name) {
			red[name] = true
		}
	}
	return red, nil
}

// BlockedIndices returns the library's indices that reject writes, with the reasons. If the disk is full, OpenSearch makes indices
// read-only.
func (ix *Indices) BlockedIndices(ctx context.Context) (map[string]string, error) {
	var found blocks
	if err := ix.Cluster.Do(ctx, http.MethodGet, "/_cluster/state/blocks/"+ix.Names.Prefix+"-*", nil, &found); err != nil {
		return nil, err
	}
	blocked := map[string]string{}
	for name, blocks := range found.Blocks.Indices {
		for _, b := range blocks {
			if ix.Names.Owns(name) && slices.Contains(b.Levels, "write") {
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

func (a *blocks) Lacks() string { return cluster.Lacking(a.Blocks != nil, "blocks") }

// OnAllCopies sends a request to the index of a property. It waits for up to `patience`, because a merge can take longer than other
// requests. It fails unless all copies of the shard have processed the request. If the property has no index, OnAllCopies does nothing.
func (ix *Indices) OnAllCopies(ctx context.Context, p library.PropertyID, path string, patience time.Duration) error {
	var answer cluster.OnShards
	err := ix.Cluster.Patient(patience).Do(ctx, http.MethodPost, "/"+ix.Names.Items(p)+path, nil, &answer)
	if cluster.IsIndexMissing(err) {
		return nil
	}
	if done := answer.Shards; err == nil && done.Successful < done.Total {
		err = fmt.Errorf("%w: only %d of %d copies of the shard responded", library.ErrUnavailable, done.Successful, done.Total)
	}
	return err
}
