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

// Library is a content library on an OpenSearch cluster. Open makes one. All methods are safe for concurrent use, and any
// number of processes may have the library open.
type Library struct {
	options Options
	names   names
	cluster *cluster
	records *records
	ledgers *ledgers
	made    *madeTags
	sealer  *library.Sealer

	closed    atomic.Bool
	closeOnce sync.Once
	closeErr  error
	// end ends the follower, ended is closed when it has.
	end   context.CancelFunc
	ended chan struct{}
}

var _ library.Library = (*Library)(nil)

// Open opens the library in the cluster, making its indices where they are not there. It fails with library.ErrUnavailable
// when the cluster cannot be reached within the timeout. The Library must be closed.
func Open(ctx context.Context, o Options) (*Library, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newCluster(o)
	if err != nil {
		return nil, err
	}
	l := &Library{options: o, names: names{o.Prefix}, cluster: c, ended: make(chan struct{})}
	l.ledgers = &ledgers{library: l, known: map[library.PropertyID]*ledger{}}
	l.made = &madeTags{library: l}
	l.records = newRecords(l)
	if err := l.open(ctx); err != nil {
		_ = c.close()
		return nil, err
	}
	follow, end := context.WithCancel(context.Background())
	l.end = end
	go func() {
		defer close(l.ended)
		l.records.follow(follow)
	}()
	return l, nil
}

// open makes the shared indices and reads the definitions.
func (l *Library) open(ctx context.Context) error {
	if err := l.cluster.create(ctx, l.names.definitions(), object{"settings": l.options.settings(), "mappings": recordMapping()}); err != nil {
		return err
	}
	if err := l.cluster.create(ctx, l.names.facts(), object{"settings": l.options.settings(), "mappings": factMapping()}); err != nil {
		return err
	}
	if err := l.records.open(ctx); err != nil {
		return err
	}
	var err error
	l.sealer, err = library.NewSealer(l.records.state.Load().authorKey)
	return err
}

// Close ends the library in this process: later calls get ErrClosed. It can be called again.
func (l *Library) Close() error {
	l.closeOnce.Do(func() {
		l.closed.Store(true)
		l.end()
		<-l.ended
		l.records.feed.Close()
		l.closeErr = l.cluster.close()
	})
	return l.closeErr
}

// now is the time by the library's clock.
func (l *Library) now() time.Time { return l.options.Clock() }

// stateTimeout bounds what State asks the cluster: probes wait for it.
const stateTimeout = 2 * time.Second

// State describes the library, see library.Library: Ready while the cluster answers.
func (l *Library) State(ctx context.Context) library.State {
	known := l.records.state.Load()
	state := library.State{PropertyItems: map[library.PropertyID]int64{}, Definitions: int64(known.set.Len())}
	if l.closed.Load() {
		state.Problem = "closed"
		return state
	}
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
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
	path := fmt.Sprintf("/%s,%s/_stats/docs,store?level=shards", l.names.definitions(), l.names.everyItems())
	if err := l.cluster.do(ctx, http.MethodGet, path, nil, &stats); err != nil {
		state.Problem = err.Error()
		return state
	}
	state.Ready = true
	state.Problem = l.records.problem()
	for name, index := range stats.Indices {
		state.DiskBytes += index.Primaries.Store.Bytes
		if p, ok := l.names.property(name); ok {
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
	return state
}

// AuthorKey is the key of author references, see library.Library.
func (l *Library) AuthorKey() []byte { return append([]byte(nil), l.records.state.Load().authorKey...) }
