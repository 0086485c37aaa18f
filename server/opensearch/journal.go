package opensearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// journal is a state of the operations of an index of items. Positions in it count operations: position n is after the operation with the
// sequence number n-1.
type journal struct {
	// index is the name of the index.
	index string
	// history identifies the sequence of operations. It changes when operations are lost.
	history string
	// node has the primary shard.
	node string
	// known is the position after the operations that every copy of the shard has. An operation before it can no longer appear.
	known int64
	// assigned is the position after all operations. Some of those after known are in progress.
	assigned int64
}

// position returns a place in the journal as text.
func (j journal) position(n int64) library.Position {
	return library.Position(j.history + "-" + strconv.FormatInt(n, 10))
}

// at returns the place of a position. It returns false if the position is not one of this journal.
func (j journal) at(p library.Position) (n int64, ok bool) {
	count, ok := strings.CutPrefix(string(p), j.history+"-")
	n, err := strconv.ParseInt(count, 10, 64)
	// A primary shard has all operations before a position, because every copy had them.
	return n, ok && err == nil && n >= 0 && n <= j.assigned
}

// share calls do once for all concurrent callers with the same key.
func share[T any](ctx context.Context, f *freshness, key string, do func(context.Context) (T, error)) (out T, err error) {
	done := f.looking.DoChan(key, func() (any, error) {
		var out T
		err := f.run(func(ctx context.Context) (err error) {
			out, err = do(ctx)
			return err
		})
		return out, err
	})
	select {
	case <-ctx.Done():
		return out, context.Cause(ctx)
	case result := <-done:
		return result.Val.(T), result.Err
	}
}

// reveal makes the known operations of a journal visible to searches on all copies of the shard.
func (f *freshness) reveal(ctx context.Context, j journal) error {
	f.mu.Lock()
	was := f.settled[j.index]
	f.mu.Unlock()
	if was.history == j.history && was.node == j.node && was.known >= j.known {
		return nil
	}
	_, err := share(ctx, f, "reveal "+string(j.position(j.known))+j.node, func(ctx context.Context) (struct{}, error) {
		err := f.indices.Cluster.Do(ctx, http.MethodPost, "/"+j.index+"/_refresh", nil, &cluster.OnShards{})
		if err == nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.settled[j.index] = j
		}
		return struct{}{}, err
	})
	return err
}

// awaitWrite returns a channel that is closed when this replica writes to an index.
func (f *freshness) awaitWrite(index string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.written[index] == nil {
		f.written[index] = make(chan struct{})
	}
	return f.written[index]
}

// wrote wakes the callers that wait for changes of an index.
func (f *freshness) wrote(index string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if waiting := f.written[index]; waiting != nil {
		close(waiting)
		delete(f.written, index)
	}
}

// changedPage is the response to a search for changes.
type changedPage struct {
	cluster.HitsOf[indices.Stored]
	Aggregations struct {
		Floor *struct {
			Value float64 `json:"value"`
		} `json:"floor"`
	} `json:"aggregations"`
}

func (a *changedPage) Lacks() string {
	return cmp.Or(a.HitsOf.Lacks(), cluster.Lacking(a.Aggregations.Floor != nil, "aggregations"))
}

// changesAtOnce is the maximum number of documents that one search for changes returns.
const changesAtOnce = 1000

// changes is a part of the journal.
type changes struct {
	items []library.ChangedItem
	// next is the place after the items.
	next int64
	// lost is true if a tombstone after the first place was removed.
	lost bool
}

// since returns at most limit items that the known operations of a journal have changed after a place. The operations must be visible.
//
// The search runs on the node whose primary shard has named the known operations, so that it finds them even if that node or the one that
// receives the request is separated from the cluster. The highest removed tombstone is part of the same state of the shard as the hits:
// upkeep.Trimmer stores it before it removes the tombstone.
func (j journal) since(ctx context.Context, c *conn, after int64, limit int) (changes, error) {
	out := changes{next: after}
	size := min(changesAtOnce, c.options.window)
	path := "/" + j.index + cluster.SearchPath + "&preference=_only_nodes:" + j.node
	for {
		within := object{"range": object{"_seq_no": object{"gte": out.next, "lt": j.known}}}
		body := object{
			"size": size, "track_total_hits": false, "seq_no_primary_term": true, "sort": []any{object{"_seq_no": "asc"}},
			"stored_fields": []string{schema.FieldGone, schema.FieldChanged, schema.FieldPublic},
			"query":         object{"bool": object{"should": []object{within, {"ids": object{"values": []string{schema.FloorID}}}}}},
			"post_filter":   within,
			"aggs":          object{"floor": object{"max": object{"field": schema.FieldFloor}}},
		}
		var found changedPage
		err := c.cluster.Do(ctx, http.MethodPost, path, body, &found)
		if errors.As(err, new(*cluster.ResponseError)) {
			return out, fmt.Errorf("%w: read the changes from the node with the primary shard: %w", library.ErrUnavailable, err)
		}
		if err != nil {
			return out, fmt.Errorf("read the changes: %w", err)
		}
		if after < int64(found.Aggregations.Floor.Value) {
			return changes{lost: true}, nil
		}
		for _, h := range found.Hits.Hits {
			if len(out.items) == limit {
				return out, nil
			}
			out.next = h.Seq + 1
			if item.ValidID(h.ID) && h.Changed() > after {
				out.items = append(out.items, library.ChangedItem{ID: h.ID, Private: h.Public() <= after})
			}
		}
		if len(found.Hits.Hits) < size {
			out.next = max(out.next, j.known)
			return out, nil
		}
	}
}

// End returns the positions after which nothing has changed. See transfer.Source. If Changes fails with ErrUnavailable, for example because the
// index was not rebuilt yet, End returns none, so that a migration is possible nevertheless.
func (l *Library) End(ctx context.Context, p library.PropertyID) (transfer.End, error) {
	looked, err := l.journalOf(ctx, p)
	if errors.Is(err, library.ErrUnavailable) {
		return transfer.End{}, nil
	}
	if err != nil {
		return transfer.End{}, err
	}
	j := looked.journal
	// The floor was stored after the tombstones that it stands for, so the newest document also follows all removed tombstones.
	body := object{
		"size": 1, "track_total_hits": false, "seq_no_primary_term": true, "_source": false, "query": object{"match_all": object{}},
		"sort": []any{object{"_seq_no": "desc"}},
	}
	var found cluster.HitsOf[indices.Stored]
	if err := l.cluster.Do(ctx, http.MethodPost, "/"+j.index+cluster.SearchPath+"&preference=_only_nodes:"+j.node, body, &found); err != nil {
		return transfer.End{}, fmt.Errorf("find the newest item: %w", err)
	}
	end := transfer.End{Journal: j.history, Last: uint64(j.assigned)}
	for _, h := range found.Hits.Hits {
		end.First = uint64(h.Seq + 1)
	}
	return end, nil
}

// journalOf returns the current journal of a property. Its known operations are visible. It contains every write that was acknowledged
// before the call.
func (l *Library) journalOf(ctx context.Context, p library.PropertyID) (lookedUp, error) {
	alias := l.names.Items(p)
	looked, err := l.fresh.lookUp(ctx, alias)
	if err != nil {
		return looked, err
	}
	x, err := l.indices.Writable(ctx, p)
	if err == nil && x.Name != looked.journal.index {
		l.indices.Forget(p)
		x, err = l.indices.Writable(ctx, p)
	}
	switch {
	case err != nil:
		return looked, err
	case x.Name != looked.journal.index:
		return looked, fmt.Errorf("%w: index %s is being replaced", library.ErrUnavailable, looked.journal.index)
	case !l.indices.Schemas[x.Schema-1].Tombstones:
		return looked, fmt.Errorf("%w: the changes of property %s are unknown until its index is rebuilt", library.ErrUnavailable, p)
	}
	return looked, l.fresh.reveal(ctx, looked.journal)
}

const (
	// changesPoll is the time between two lookups for a waiting call of Changes. All waiting calls of a property share the lookups.
	changesPoll = 500 * time.Millisecond
	// changesPause is that time while operations are in progress that may belong to acknowledged writes.
	changesPause = 2 * cluster.ShortestPause
)

// Changes returns the items that changed after a position. See library.Feed. The operations of the index of items are the journal. An
// operation can become visible before an earlier one, so Changes returns only operations before the global checkpoint of the primary shard.
// A later write than that may already be acknowledged, so Changes waits for the operations in progress before it returns nothing.
func (l *Library) Changes(ctx context.Context, r library.ChangesRead) (*library.ItemChanges, error) {
	end := time.Now().Add(r.Wait)
	awaited := int64(-1) // the place after all operations at the time of the call
	for {
		written := l.fresh.awaitWrite(l.names.Items(r.Property))
		out, is, err := l.changesNow(ctx, r)
		if err != nil {
			return nil, err
		}
		if len(out.Items) > 0 || out.Lost || r.After == "" {
			return out, nil
		}
		if awaited < 0 {
			awaited = is.assigned
		}
		settled, left := is.known >= min(awaited, is.assigned), time.Until(end)
		pause := min(left, time.Until(time.Now().Truncate(changesPoll).Add(changesPoll)))
		switch {
		case settled && left <= 0:
			return out, nil
		case left <= -cluster.Reconnect:
			return nil, fmt.Errorf("%w: operations of property %s are still in progress", library.ErrUnavailable, r.Property)
		case !settled:
			pause, written = changesPause, nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-written:
		case <-l.fresh.ended.Done():
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// changesNow returns the changes that are known now, and the state of the journal. It waits until no replica relies on an earlier state.
func (l *Library) changesNow(ctx context.Context, r library.ChangesRead) (*library.ItemChanges, journal, error) {
	if l.closed.Load() {
		return nil, journal{}, library.ErrClosed
	}
	if ctx.Err() != nil {
		return nil, journal{}, context.Cause(ctx)
	}
	// Waiting calls share their requests, so they do not count towards the limit of reads.
	ctx, cancel := cluster.Limited(ctx, l.options.ReadTimeout)
	defer cancel()
	if _, err := l.Served(r.Property); err != nil {
		return nil, journal{}, err
	}
	looked, err := l.journalOf(ctx, r.Property)
	j := looked.journal
	if err != nil {
		return nil, j, err
	}
	out := &library.ItemChanges{Next: j.position(j.known)}
	after, ok := j.at(r.After)
	if !ok && r.After != "" {
		after, ok = j.at(transfer.Continued(l.records.Now().Marks[transfer.MarkFeed], r.Property, r.After))
	}
	switch {
	case r.After == "":
	case !ok:
		out.Lost = true
	case after >= j.known:
		out.Next = j.position(after)
		return out, j, nil
	default:
		key := fmt.Sprintf("changes %s %d %d %s", j.position(after), j.known, r.Limit, j.node)
		found, err := share(ctx, l.fresh, key, func(ctx context.Context) (changes, error) { return j.since(ctx, l.conn, after, r.Limit) })
		if err != nil {
			return nil, j, err
		}
		if out.Lost = found.lost; !out.Lost {
			out.Items, out.Next = append(out.Items, found.items...), j.position(found.next)
			out.More = len(out.Items) > 0 && found.next < j.assigned
		}
	}
	if !cluster.Sleep(ctx, time.Until(looked.ended.Add(lease))) {
		return nil, j, context.Cause(ctx)
	}
	return out, j, nil
}
