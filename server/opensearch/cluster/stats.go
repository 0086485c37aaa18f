package cluster

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/vitrine-dev/vitrine/server/library"
)

// StatsOf is the response to a request for statistics of indices.
type StatsOf struct {
	OnShards
	Indices Stats `json:"indices"`
}

// Lacks implements Answer.
func (a *StatsOf) Lacks() string {
	return cmp.Or(a.OnShards.Lacks(), Lacking(a.Indices != nil, "indices"))
}

// Stats holds the statistics of the library's indices, by name.
type Stats map[string]struct {
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
		// Node is the id of the node.
		Node string `json:"node"`
	} `json:"routing"`
	Commit struct {
		UserData struct {
			// History changes when the shard loses operations, for example because a snapshot is restored.
			History string `json:"history_uuid"`
		} `json:"user_data"`
	} `json:"commit"`
	SeqNo struct {
		Max        int64 `json:"max_seq_no"`
		Checkpoint int64 `json:"global_checkpoint"`
	} `json:"seq_no"`
	Leases struct {
		Term int64 `json:"primary_term"`
	} `json:"retention_leases"`
}

// Primary returns the statistics of the primary shard of an index, or nil if there is none. Each index has one shard.
func (s Stats) Primary(index string) *shardStats {
	copies := s[index].Shards["0"]
	if i := slices.IndexFunc(copies, func(c shardStats) bool { return c.Routing.Primary }); i >= 0 {
		return &copies[i]
	}
	return nil
}

// Operations returns the number of operations that an index has had.
func (s Stats) Operations(index string) int64 {
	if shard := s.Primary(index); shard != nil {
		return shard.SeqNo.Max + 1
	}
	return 0
}

// Checkpoint returns a sequence number up to which every copy of the shard has all operations. The actual number can be higher, because
// OpenSearch updates the checkpoint with a delay. checkpoint fails if the statistics contain no copy, for example while a node restarts.
func (s Stats) Checkpoint(index string) (int64, error) {
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
