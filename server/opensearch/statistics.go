package opensearch

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// progress returns the approximate percentage of an index that its copy contains.
func progress(s indexStats, index, copied *itemIndex) int64 {
	return min(99, s.operations(copied.name)*100/max(1, s[index.name].Primaries.Docs.Count))
}

// statistics returns the statistics of all indices. It fails if a shared index is missing.
func (ix *indices) statistics(ctx context.Context) (indexStats, error) {
	return ix.statisticsOf(ctx, ix.names.everyIndex())
}

func (ix *indices) statisticsOf(ctx context.Context, indices string) (indexStats, error) {
	var found statsOf
	err := ix.cluster.do(ctx, http.MethodGet, "/"+indices+"/_stats/docs,store?level=shards", nil, &found)
	return found.Indices, err
}

// checkWhole fails if the library has items but its shared indices were deleted. With new shared indices, the library would assign item
// ids again and silently lose definitions that were created over HTTP. exists is true if the shared indices exist.
func (ix *indices) checkWhole(ctx context.Context) (exists bool, err error) {
	found, err := ix.healthOfIndices(ctx, "10s")
	if err != nil {
		return false, fmt.Errorf("look up the indices: %w", err)
	}
	there := found.Indices
	maps.DeleteFunc(there, func(name string, _ health) bool { return !ix.names.owns(name) })
	var missing []string
	for _, name := range ix.names.shared() {
		if _, ok := there[name]; !ok {
			missing = append(missing, name)
		}
		delete(there, name)
	}
	if len(there) > 0 && len(missing) > 0 {
		return false, fmt.Errorf("the cluster contains items of a library, but lacks %s: restore the missing indices from a snapshot, or delete the indices %s to start with an empty library",
			strings.Join(missing, " and "), ix.names.everyItems())
	}
	return len(missing) == 0, nil
}

// healthOfIndices returns the health of all indices whose name begins with the prefix. The library does not own all of these (see owns).
// timeout limits the time for which a node waits for the cluster manager.
func (ix *indices) healthOfIndices(ctx context.Context, timeout string) (*healthOfIndices, error) {
	found := &healthOfIndices{}
	path := "/_cluster/health/" + ix.names.prefix + "-*?level=indices&timeout=" + timeout
	return found, ix.cluster.do(ctx, http.MethodGet, path, nil, found)
}

// redIndices returns the names of the library's indices that have a shard without a working copy.
func (ix *indices) redIndices(ctx context.Context) (map[string]bool, error) {
	found, err := ix.healthOfIndices(ctx, "400ms")
	if err != nil {
		return nil, err
	}
	red := map[string]bool{}
	for name, index := range found.Indices {
		if index.Status == "red" && ix.names.owns(name) {
			red[name] = true
		}
	}
	return red, nil
}

// blockedIndices returns the library's indices that reject writes, with the reasons. If the disk is full, OpenSearch makes indices
// read-only.
func (ix *indices) blockedIndices(ctx context.Context) (map[string]string, error) {
	var found blocks
	if err := ix.cluster.do(ctx, http.MethodGet, "/_cluster/state/blocks/"+ix.names.prefix+"-*", nil, &found); err != nil {
		return nil, err
	}
	blocked := map[string]string{}
	for name, blocks := range found.Blocks.Indices {
		for _, b := range blocks {
			if ix.names.owns(name) && slices.Contains(b.Levels, "write") {
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

// onAllCopies sends a request to the index of a property. It waits for up to `patience`, because a merge can take longer than other requests.
// It fails unless all copies of the shard have processed the request. If the property has no index, onAllCopies does nothing.
func (ix *indices) onAllCopies(ctx context.Context, p library.PropertyID, path string, patience time.Duration) error {
	var answer onShards
	err := ix.cluster.patient(patience).do(ctx, http.MethodPost, "/"+ix.names.items(p)+path, nil, &answer)
	if isIndexMissing(err) {
		return nil
	}
	if done := answer.Shards; err == nil && done.Successful < done.Total {
		err = fmt.Errorf("%w: only %d of %d copies of the shard responded", library.ErrUnavailable, done.Successful, done.Total)
	}
	return err
}
