// Package indices creates, describes and changes the indices of a library, and reads items by their ids. The index of the items of a
// property has generations: when a schema changes, package upkeep builds the next generation. Only the current one is read and written.
//
// The package may import cluster, schema, library, transfer, query and item.
package indices

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
)

// object is a JSON object of a request.
type object = map[string]any

// Indices reads and changes the indices of a library.
type Indices struct {
	Cluster *cluster.Client
	Names   schema.Names
	Schemas schema.Schemas
	// Refresh is the refresh interval of all indices. Window is the maximum sum of skipped and returned hits of a search of items.
	Refresh time.Duration
	Window  int

	// current contains the last seen current generation of each property. See Writable.
	current sync.Map
	// First is true if the current index of a property can have the first schema. Changed is called when it changes.
	First   atomic.Bool
	Changed func()
}

// CreateShared creates a shared index, unless it exists.
func (ix *Indices) CreateShared(ctx context.Context, alias string, mapping object) error {
	return ix.Create(ctx, schema.SharedIndex(alias), ix.settings(), mapping, alias)
}

// Create creates an index with aliases, unless the index exists.
func (ix *Indices) Create(ctx context.Context, index string, settings, mapping object, aliases ...string) error {
	named := object{}
	for _, alias := range aliases {
		named[alias] = object{}
	}
	return ix.create(ctx, index, settings, mapping, named)
}

func (ix *Indices) create(ctx context.Context, index string, settings, mapping, named object) error {
	err := ix.Cluster.Do(ctx, http.MethodPut, "/"+index, object{"settings": settings, "mappings": mapping, "aliases": named}, &cluster.Acknowledged{})
	if cluster.HasType(err, "resource_already_exists_exception") || cluster.IsBlocked(err) {
		return nil // only an existing index can have a block, such as that of a frozen library
	}
	if err != nil {
		return fmt.Errorf("create index %s: %w", index, err)
	}
	return nil
}

// settings returns the settings of all indices. Each index has one shard. This way, sequence numbers order all writes of a shared index,
// and scores equal those of the other libraries. A second node holds a copy of the shard.
func (ix *Indices) settings() object {
	return object{"number_of_shards": 1, "auto_expand_replicas": "0-1", "refresh_interval": ix.Refresh.String()}
}

// ItemSettings returns the settings of the index of a property's items.
func (ix *Indices) ItemSettings() object {
	s := ix.settings()
	s["max_result_window"] = ix.Window
	s["merge.policy.expunge_deletes_allowed"] = 0 // see upkeep.Eraser
	s["max_regex_length"] = schema.LongestPattern
	return s
}
