package opensearch

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
	"github.com/vitrine-dev/vitrine/server/opensearch/records"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

var _ transfer.Source = (*Library)(nil)

// Source returns the library as the source of a transfer.
func (l *Library) Source() transfer.Source { return l }

// Freeze makes every later write fail. See transfer.Source. A mark tells all replicas the reason. A block of the indices rejects the
// writes of replicas that have not seen the mark yet. After OpenSearch has set the block, no earlier write is in progress. The block also
// rejects deletions, and changes of settings, aliases and mappings. A rebuild (see upkeep.Rebuilder) therefore stops. It can neither replace an
// index nor remove a block.
func (l *Library) Freeze(ctx context.Context) (transfer.Freeze, error) {
	freeze, err := l.Frozen(ctx)
	if err != nil {
		return "", err
	}
	if freeze == "" {
		freeze = transfer.NewFreeze(l.now())
		if err := l.SetMark(ctx, transfer.MarkFrozen, string(freeze)); err != nil {
			return "", err
		}
	}
	var answer cluster.BlockedWrites
	if err := l.cluster.Do(ctx, http.MethodPut, "/"+l.names.EveryIndex()+"/_block/read_only", nil, &answer); err != nil {
		return "", fmt.Errorf("block writes to the indices: %w", err)
	}
	if !answer.All && len(answer.Indices) > 0 {
		return "", fmt.Errorf("block writes to the indices: %w: not every shard has confirmed the block", library.ErrUnavailable)
	}
	return freeze, nil
}

// Thaw makes the library accept writes again.
func (l *Library) Thaw(ctx context.Context) error {
	if freeze, err := l.Frozen(ctx); err != nil || freeze == "" {
		return err
	}
	body := object{"index.blocks.read_only": nil}
	if err := l.cluster.Do(ctx, http.MethodPut, "/"+l.names.EveryIndex()+"/_settings", body, &cluster.Acknowledged{}); err != nil {
		return fmt.Errorf("allow writes to the indices: %w", err)
	}
	return l.SetMark(ctx, transfer.MarkFrozen, "")
}

// Frozen returns the current freeze, or an empty string if there is none.
func (l *Library) Frozen(ctx context.Context) (transfer.Freeze, error) {
	if err := l.alive(ctx); err != nil {
		return "", err
	}
	unlock, err := l.records.Lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := l.records.CatchUp(ctx); err != nil {
		return "", err
	}
	return l.records.Frozen(), nil
}

// Facts returns all data except items. See transfer.Reader. The library must not change during the call.
func (l *Library) Facts(ctx context.Context) (*transfer.Facts, error) {
	unlock, err := l.records.Lock(ctx)
	if err != nil {
		return nil, err
	}
	err = l.records.Reload(ctx)
	unlock()
	if err != nil {
		return nil, err
	}
	now := l.records.Now()
	f := &transfer.Facts{
		AuthorKey: bytes.Clone(now.AuthorKey), Marks: maps.Clone(now.Marks), Definitions: now.Set.Entries(),
		Properties: map[library.PropertyID]transfer.Property{},
	}
	maps.DeleteFunc(f.Marks, func(key, value string) bool {
		return key == transfer.MarkFrozen || key == transfer.MarkTarget || key == transfer.MarkFeed || key == records.MarkLeader || value == ""
	})
	var state library.State
	state.PropertyItems = map[library.PropertyID]int64{}
	stats, err := l.indices.Statistics(ctx)
	if err != nil {
		return nil, err
	}
	gone, err := l.indices.Tombstones(ctx, nil)
	if err != nil {
		return nil, err
	}
	all, err := l.indices.Generations(ctx, l.names.EveryItems())
	if err != nil {
		return nil, err
	}
	l.count(&state, stats, gone, all)
	// List the properties by their indices and not by the statistics, which do not contain indices without a working shard. Facts of a
	// property without an index are left over from an interrupted purge, so they are ignored.
	for p, g := range all {
		if g.Current != nil {
			f.Properties[p] = transfer.Property{Items: state.PropertyItems[p], Tags: map[item.Tag]bool{}}
		}
	}
	for p := range now.Set.Catalogues() {
		if _, ok := f.Properties[p]; !ok {
			return nil, fmt.Errorf("the index of property %s is missing: restore the index with the alias %s from a snapshot", p, l.names.Items(p))
		}
	}
	return f, l.facts.Read(ctx, f.Properties)
}

// Lines yields the stored items of a property. See transfer.Reader.
func (l *Library) Lines(ctx context.Context, p library.PropertyID) iter.Seq2[transfer.Line, error] {
	return func(yield func(transfer.Line, error) bool) {
		err := l.cluster.Do(ctx, http.MethodPost, "/"+l.names.Items(p)+"/_refresh", nil, &cluster.OnShards{})
		for last := item.ID(0); err == nil; {
			var found cluster.HitsOf[indices.Stored]
			body := object{
				"query": object{"match_all": object{}}, "size": exportChunk, "track_total_hits": false, "stored_fields": []string{schema.FieldItem, schema.FieldHistory},
				"sort": []any{object{"id": "asc"}}, "search_after": []any{last},
			}
			if err = l.cluster.Do(ctx, http.MethodPost, "/"+l.names.Items(p)+cluster.SearchPath, body, &found); err != nil {
				break
			}
			for _, h := range found.Hits.Hits {
				if len(h.Fields.Item) != 1 {
					err = &library.UnreadableItemError{ID: h.ID, Err: indices.ErrNoItem}
					break
				}
				it, unreadable := item.Unmarshal([]byte(h.Fields.Item[0]))
				if unreadable != nil {
					err = &library.UnreadableItemError{ID: h.ID, Err: unreadable}
					break
				}
				// An older version may have written the text, and may have written the same item differently.
				if !yield(transfer.Line{ID: h.ID, Text: item.Marshal(it, nil), History: []byte(h.History())}, nil) {
					return
				}
				last = h.ID
			}
			if err == nil && len(found.Hits.Hits) < exportChunk {
				return
			}
		}
		yield(transfer.Line{}, fmt.Errorf("read the items: %w", err))
	}
}
