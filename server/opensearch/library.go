package opensearch

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Library is a content library on an OpenSearch cluster. Open creates it. All methods are safe for concurrent use, and any number of
// processes can have the same library open.
type Library struct {
	definitions.Reads
	options   Options
	names     names
	cluster   *cluster
	records   *records
	ledgers   *ledgers
	selectors selectors
	made      *madeTags
	fresh     *freshness
	shown     *shownItems
	eraser    *eraser
	sealer    *library.Sealer
	calls     calls
	// versionKey is the key of page versions. See versionOf.
	versionKey []byte

	// current contains the last seen current generation of each property. See writable.
	current sync.Map
	// firstSchema is true if the current index of a property can have the first schema.
	firstSchema atomic.Bool
	// unbuilt contains, for each property, the error of the last rebuild by this replica, if it failed.
	unbuilt sync.Map

	closed    atomic.Bool
	closeOnce sync.Once
	closeErr  error
	// end stops the follower, the rebuilder and the eraser. ended is closed when all three have returned.
	end   context.CancelFunc
	ended chan struct{}
}

var _ library.Library = (*Library)(nil)

// Open opens the library in the cluster and creates missing indices. If the cluster is unreachable until the timeout, Open fails with
// library.ErrUnavailable. It fails with *OptionsError for invalid options, and with other errors that describe a problem with a file, the
// credentials, the version of the cluster or the indices. The caller must close the Library.
func Open(ctx context.Context, o Options) (*Library, error) {
	l, err := newLibrary(o)
	if err != nil {
		return nil, err
	}
	if err := l.open(ctx); err != nil {
		_ = l.disconnect()
		return nil, err
	}
	follow, end := context.WithCancel(context.Background())
	l.end = end
	go func() {
		defer close(l.ended)
		var group sync.WaitGroup
		group.Go(func() { newRebuilder(l).run(follow) })
		group.Go(func() { l.eraser.run(follow) })
		l.records.follow(follow)
		group.Wait()
	}()
	return l, nil
}

// newLibrary returns a Library that is not connected to the cluster.
func newLibrary(o Options) (*Library, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newCluster(o)
	if err != nil {
		return nil, err
	}
	l := &Library{options: o, names: names{o.Prefix}, cluster: c, calls: newCalls(), ended: make(chan struct{})}
	l.Reads = l.served
	l.ledgers = &ledgers{library: l, known: map[library.PropertyID]*ledger{}}
	l.made = &madeTags{library: l}
	l.eraser = newEraser(l)
	l.records = newRecords(l)
	c.failing = l.records.fails
	if l.fresh, err = newFreshness(l); err != nil {
		return nil, err
	}
	if l.shown, err = newShownItems(shownBytes, o.Pressure); err != nil {
		return nil, err
	}
	return l, nil
}

// open creates the shared indices and reads the definitions.
func (l *Library) open(ctx context.Context) error {
	if err := l.cluster.checkVersion(ctx); err != nil {
		return err
	}
	there, err := l.checkWhole(ctx)
	if err == nil && !there && l.options.MustExist {
		err = fmt.Errorf("the cluster has no library with the index prefix %s", l.options.Prefix)
	}
	if err != nil {
		return err
	}
	if there {
		err = l.checkSchemas(ctx)
	} else {
		err = l.createShared(ctx)
	}
	if err != nil {
		return err
	}
	if err := l.records.open(ctx); err != nil {
		return err
	}
	key := l.records.state.Load().authorKey
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("page version"))
	l.versionKey = mac.Sum(nil)
	l.sealer, err = library.NewSealer(key)
	return err
}

// createShared creates the shared indices, unless they exist.
func (l *Library) createShared(ctx context.Context) error {
	for alias, mapping := range map[string]object{l.names.definitions(): recordMapping(), l.names.facts(): factMapping()} {
		if err := l.cluster.create(ctx, sharedIndex(alias), l.options.settings(), mapping, alias); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the library in this process. Later calls of other methods fail with ErrClosed. Close can be called more than once.
func (l *Library) Close() error {
	l.closeOnce.Do(func() {
		l.closed.Store(true)
		l.end()
		<-l.ended
		l.records.feed.Close()
		l.closeErr = l.disconnect()
	})
	return l.closeErr
}

// disconnect ends everything that newLibrary started.
func (l *Library) disconnect() error {
	l.fresh.close()
	l.shown.close()
	return l.cluster.close()
}

// now returns the current time according to the library's clock.
func (l *Library) now() time.Time { return l.options.Clock() }

// AuthorKey returns the key of author references. See library.Library.
func (l *Library) AuthorKey() []byte { return append([]byte(nil), l.records.state.Load().authorKey...) }
