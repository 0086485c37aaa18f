package opensearch

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// indices reads and changes the indices of a library.
type indices struct {
	cluster *cluster
	names   names
	schemas schemas
	// refresh is the refresh interval of all indices. window is the maximum sum of skipped and returned hits of a search of items.
	refresh time.Duration
	window  int

	// current contains the last seen current generation of each property. See writable.
	current sync.Map
	// first is true if the current index of a property can have the first schema. changed is called when it changes.
	first   atomic.Bool
	changed func()
}

// createShared creates a shared index, unless it exists.
func (ix *indices) createShared(ctx context.Context, alias string, mapping object) error {
	return ix.create(ctx, sharedIndex(alias), ix.settings(), mapping, alias)
}

// createItems creates the index of a property's items with its aliases, unless the property already has one.
func (ix *indices) createItems(ctx context.Context, p library.PropertyID) error {
	g, err := ix.generationsOf(ctx, p)
	if err != nil || g.current != nil {
		return err
	}
	alias := ix.names.items(p)
	index := itemGeneration(alias, 1)
	return ix.create(ctx, index, ix.itemSettings(), ix.schemas.mapping(itemMeta{Property: p, Schema: ix.schemas.latest()}),
		alias, index+currentMark, index+writeMark)
}

// create creates an index with aliases, unless the index exists.
func (ix *indices) create(ctx context.Context, index string, settings, mapping object, aliases ...string) error {
	named := object{}
	for _, alias := range aliases {
		named[alias] = object{}
	}
	err := ix.cluster.do(ctx, http.MethodPut, "/"+index, object{"settings": settings, "mappings": mapping, "aliases": named}, &acknowledged{})
	if hasType(err, "resource_already_exists_exception") || isBlocked(err) {
		return nil // only an existing index can have a block, such as that of a frozen library
	}
	if err != nil {
		return fmt.Errorf("create index %s: %w", index, err)
	}
	return nil
}

// settings returns the settings of all indices. Each index has one shard. This way, sequence numbers order all writes of a shared index,
// and scores equal those of the other libraries. A second node holds a copy of the shard.
func (ix *indices) settings() object {
	return object{"number_of_shards": 1, "auto_expand_replicas": "0-1", "refresh_interval": ix.refresh.String()}
}

// itemSettings returns the settings of the index of a property's items.
func (ix *indices) itemSettings() object {
	s := ix.settings()
	s["max_result_window"] = ix.window
	s["merge.policy.expunge_deletes_allowed"] = 0 // see eraser
	s["max_regex_length"] = longestPattern
	return s
}
