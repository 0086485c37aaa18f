package opensearch

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
	"weak"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
	"github.com/vitrine-dev/vitrine/server/query"
)

// lease is the time for which a replica relies on the state of an index that it has looked up. When searches find a write, the replica
// that writes waits for one more lease before it acknowledges the write. After that, every other replica has either seen the new state or
// no longer relies on an older one. This needs no common clock, because each replica measures only durations.
const lease = 40 * time.Millisecond

// indexState identifies the operations of an index by its UUID, its primary term and its highest sequence number. It is empty if unknown.
type indexState string

// lookedUp is a state of an index, and the times at which the request for it began and ended.
type lookedUp struct {
	state        indexState
	began, ended time.Time
	journal      journal
	// complete is true if every copy of the shard has all operations of the state. While a write is in progress, its operation can already
	// have a sequence number that no copy of the shard contains, not even the primary.
	complete bool
}

// pageKey identifies a read. It does not include the state of the library.
type pageKey struct {
	property library.PropertyID
	identity string // of the listing
	audience query.Audience
	base     string
	after    library.Cursor
	offset   int64
	limit    int
	onlyIDs  bool
}

// seenPage is the version of a page. The page was built with the definitions in catalogue and shows all operations of state.
type seenPage struct {
	version   string
	expires   time.Time
	catalogue weak.Pointer[definitions.Catalogue]
	state     indexState
}

// freshness remembers the versions of pages that are read repeatedly, and the states of the indices of these pages. A read needs no search
// if neither its definitions nor the state of its index has changed.
type freshness struct {
	indices *indices.Indices
	// limit limits one request for the state of an index.
	limit time.Duration
	pages *otter.Cache[pageKey, seenPage]

	mu sync.Mutex
	// looked contains the result of the last successful lookup for each index, by alias.
	looked map[string]lookedUp
	// shown contains, for each index, the last state whose operations are all visible to searches, and the time when they became visible.
	shown map[string]lookedUp

	// settled contains, for each index, the last journal whose known operations were all visible.
	settled map[string]journal
	// written contains, for each index for whose changes a caller waits, a channel that is closed when this replica writes to the index.
	written map[string]chan struct{}

	looking singleflight.Group
	// running counts the lookups in progress. ended ends when close is called: from then on, no lookup may begin.
	running sync.WaitGroup
	ended   context.Context //nolint:containedctx // of the lookups, which continue when the read that began them ends
	end     context.CancelFunc
}

// rememberedPages is the maximum number of remembered versions. Each takes about half a KB.
const rememberedPages = 10_000

func newFreshness(ix *indices.Indices, limit time.Duration) (*freshness, error) {
	pages, err := otter.New(&otter.Options[pageKey, seenPage]{MaximumSize: rememberedPages})
	if err != nil {
		return nil, fmt.Errorf("make the cache of versions: %w", err)
	}
	f := &freshness{indices: ix, limit: limit, pages: pages, looked: map[string]lookedUp{}, shown: map[string]lookedUp{}, settled: map[string]journal{}, written: map[string]chan struct{}{}}
	f.ended, f.end = context.WithCancel(context.Background())
	return f, nil
}

// close ends the lookups in progress.
func (f *freshness) close() {
	f.mu.Lock()
	f.end()
	f.mu.Unlock()
	f.running.Wait()
}

// key returns the key of a page. ok is false if the read is not worth remembering, because the caller sent no version of the page or
// requests a time other than now.
func (f *freshness) key(r library.Read, listing library.Listing) (key pageKey, ok bool) {
	return pageKey{
		property: r.Property, identity: listing.Identity, audience: r.Audience, base: r.BaseURL, after: r.After, offset: r.Offset,
		limit: r.Limit, onlyIDs: r.OnlyIDs,
	}, r.IfVersion != "" && r.Now.IsZero()
}

// unchanged returns the remembered page if it has the version that the caller sent and nothing has changed since.
func (f *freshness) unchanged(ctx context.Context, v *view, key pageKey, version string) (seenPage, bool) {
	p, ok := f.pages.GetIfPresent(key)
	if !ok || p.version != version || p.catalogue.Value() != v.catalogue || !p.expires.IsZero() && !v.now.Before(p.expires) {
		return p, false
	}
	state, err := f.state(ctx, v.index())
	return p, err == nil && state == p.state
}

// keep remembers the version of a page. The page was searched after settle returned state.
func (f *freshness) keep(key pageKey, v *view, page *library.Page, state indexState) {
	if state != "" {
		f.pages.Set(key, seenPage{page.Version, page.Expires, weak.Make(v.catalogue), state})
	}
}

// state returns the state of an index. It contains every operation that was acknowledged before the call.
func (f *freshness) state(ctx context.Context, index string) (indexState, error) {
	last, err := f.lookUp(ctx, index)
	return last.state, err
}

// lookUp looks up the state of an index. The state contains every operation that was acknowledged before the call.
func (f *freshness) lookUp(ctx context.Context, index string) (lookedUp, error) {
	asked := time.Now()
	for {
		f.mu.Lock()
		last := f.looked[index]
		f.mu.Unlock()
		age := asked.Sub(last.began)
		var looked <-chan singleflight.Result
		// Begin the next lookup before the lease ends, so that later reads do not have to wait.
		if age > lease/2 {
			looked = f.looking.DoChan(index, func() (any, error) { return nil, f.look(index) })
		}
		if age < lease {
			return last, nil
		}
		select {
		case <-ctx.Done():
			return last, context.Cause(ctx)
		case result := <-looked:
			if result.Err != nil {
				return last, result.Err
			}
		}
	}
}

// look looks up the state of an index, and stores it in looked.
func (f *freshness) look(index string) error {
	return f.run(func(ctx context.Context) error {
		began := time.Now()
		looked, err := f.request(ctx, index)
		if err == nil {
			looked.began, looked.ended = began, time.Now()
			f.mu.Lock()
			defer f.mu.Unlock()
			f.looked[index] = looked
		}
		return err
	})
}

// run calls do with a context that does not end with the read that needs the result. It returns ErrClosed after close, also if close ended
// do.
func (f *freshness) run(do func(context.Context) error) error {
	f.mu.Lock()
	if f.ended.Err() != nil {
		f.mu.Unlock()
		return library.ErrClosed
	}
	f.running.Add(1)
	f.mu.Unlock()
	defer f.running.Done()
	ctx, cancel := cluster.Limited(f.ended, f.limit)
	defer cancel()
	err := do(ctx)
	if err != nil && f.ended.Err() != nil {
		return library.ErrClosed
	}
	return err
}

// request requests the state of an index from the cluster.
func (f *freshness) request(ctx context.Context, index string) (lookedUp, error) {
	var stats cluster.StatsOf
	path := "/" + index + "/_stats/get?level=shards&filter_path=_shards.failed,indices.*.uuid,indices.*.shards.*.routing," +
		"indices.*.shards.*.commit.user_data.history_uuid,indices.*.shards.*.seq_no.max_seq_no,indices.*.shards.*.seq_no.global_checkpoint,indices.*.shards.*.retention_leases.primary_term"
	if err := f.indices.Cluster.Do(ctx, http.MethodGet, path, nil, &stats); err != nil {
		return lookedUp{}, err
	}
	for name, i := range stats.Indices { // contains only the index behind the alias
		if shard := stats.Indices.Primary(name); shard != nil && shard.Routing.Node != "" && shard.Commit.UserData.History != "" {
			return lookedUp{
				state:    indexState(fmt.Sprintf("%s %d %d", i.UUID, shard.Leases.Term, shard.SeqNo.Max)),
				complete: shard.SeqNo.Checkpoint == shard.SeqNo.Max,
				journal:  journal{name, shard.Commit.UserData.History, shard.Routing.Node, shard.SeqNo.Checkpoint + 1, shard.SeqNo.Max + 1},
			}, nil
		}
	}
	return lookedUp{}, fmt.Errorf("%w: the index has no primary shard", library.ErrUnavailable)
}

// settle makes the operations of an index visible to searches. It returns the state of the index, or an empty string if some operations
// may not be visible. It refreshes an index no more often than the index refreshes itself.
func (f *freshness) settle(ctx context.Context, index string) indexState {
	last, err := f.lookUp(ctx, index)
	if err != nil || !last.complete {
		return ""
	}
	state := last.state
	f.mu.Lock()
	shown := f.shown[index]
	soon := time.Since(shown.began) < f.indices.Refresh
	if shown.state != state && !soon {
		f.shown[index] = lookedUp{began: time.Now()} // prevents other callers from refreshing too
	}
	f.mu.Unlock()
	if shown.state == state {
		return state
	}
	if soon || f.indices.Cluster.Do(ctx, http.MethodPost, "/"+index+"/_refresh", nil, &cluster.OnShards{}) != nil {
		return ""
	}
	f.mu.Lock()
	f.shown[index] = lookedUp{state: state, began: time.Now()}
	f.mu.Unlock()
	return state
}
