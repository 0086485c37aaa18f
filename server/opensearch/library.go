package opensearch

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/facts"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
	"github.com/vitrine-dev/vitrine/server/opensearch/records"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/opensearch/upkeep"
)

// Library is a content library on an OpenSearch cluster. Open creates it. All methods are safe for concurrent use, and any number of
// processes can have the same library open.
type Library struct {
	definitions.Reads
	*calls
	*conn
	records   *records.Records
	facts     *facts.Facts
	eraser    *upkeep.Eraser
	trimmer   *upkeep.Trimmer
	rebuilder *upkeep.Rebuilder
	fresh     *freshness
	sealer    *library.Sealer
	// versionKey is the key of page versions. See versionOf.
	versionKey []byte

	closeOnce sync.Once
	closeErr  error
	// end stops the follower and the background tasks. ended is closed when all of them have returned.
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
		group.Go(func() { l.rebuilder.Run(follow) })
		group.Go(func() { l.eraser.Run(follow) })
		group.Go(func() { l.trimmer.Run(follow) })
		l.records.Follow(follow)
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
	c, err := cluster.New(o.connection())
	if err != nil {
		return nil, err
	}
	n := schema.Names{Prefix: o.Prefix}
	ix := &indices.Indices{Cluster: c, Names: n, Schemas: o.schemas, Refresh: o.RefreshInterval, Window: o.window}
	l := &Library{
		conn: &conn{options: o, names: n, cluster: c, indices: ix}, calls: newCalls(o.ReadTimeout), ended: make(chan struct{}),
		facts: facts.New(c, n), records: records.New(c, n, o.Logger, o.FollowInterval, o.LookTimeout),
	}
	l.Reads = l.served
	ix.Changed = l.selectors.forget
	l.records.Prepare, l.records.Forget = l.prepare, l.forget
	c.Failing = l.records.Fails
	journal := upkeep.Journal{Age: o.JournalAge, Changes: o.JournalChanges, Clock: o.Clock}
	l.eraser, l.trimmer, l.rebuilder = upkeep.New(ix, l.facts, l.records.Frozen, o.Logger, o.EraseWithin, journal, o.rebuild)
	if l.fresh, err = newFreshness(ix, o.LookTimeout); err != nil {
		return nil, err
	}
	if l.shown, err = newShownItems(shownBytes, o.Pressure); err != nil {
		return nil, err
	}
	return l, nil
}

// open creates the shared indices and reads the definitions.
func (l *Library) open(ctx context.Context) error {
	if err := l.cluster.CheckVersion(ctx); err != nil {
		return err
	}
	there, err := l.indices.CheckWhole(ctx)
	if err == nil && !there && l.options.MustExist {
		err = fmt.Errorf("the cluster has no library with the index prefix %s", l.options.Prefix)
	}
	if err != nil {
		return err
	}
	if there {
		err = l.indices.CheckSchemas(ctx)
	} else {
		err = l.createShared(ctx)
	}
	if err != nil {
		return err
	}
	if err := l.records.Open(ctx); err != nil {
		return err
	}
	key := l.records.Now().AuthorKey
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("page version"))
	l.versionKey = mac.Sum(nil)
	l.sealer, err = library.NewSealer(key)
	return err
}

// createShared creates the shared indices, unless they exist.
func (l *Library) createShared(ctx context.Context) error {
	for alias, mapping := range map[string]object{l.names.Definitions(): records.Mapping(), l.names.Facts(): facts.Mapping()} {
		if err := l.indices.CreateShared(ctx, alias, mapping); err != nil {
			return err
		}
	}
	return nil
}

// prepare creates what a property needs before this replica serves a change of its definitions. See records.
func (l *Library) prepare(ctx context.Context, p library.PropertyID, isNew bool, tags []item.Tag) error {
	if isNew {
		if err := l.indices.CreateItems(ctx, p); err != nil {
			return err
		}
	}
	return l.facts.Tags.Add(ctx, p, tags...)
}

// forget forgets what this replica remembers about a property.
func (l *Library) forget(p library.PropertyID) {
	l.facts.Forget(p)
	l.indices.Forget(p)
	l.documents.forget(p)
}

// Close closes the library in this process. Later calls of other methods fail with ErrClosed. Close can be called more than once.
func (l *Library) Close() error {
	l.closeOnce.Do(func() {
		l.closed.Store(true)
		l.end()
		<-l.ended
		l.closeErr = l.disconnect()
	})
	return l.closeErr
}

// disconnect ends everything that newLibrary started.
func (l *Library) disconnect() error {
	l.fresh.close()
	l.shown.close()
	return l.cluster.Close()
}

// served returns the definitions that the library serves, or ErrClosed.
func (l *Library) served() (definitions.Set, error) {
	if l.closed.Load() {
		return definitions.Set{}, library.ErrClosed
	}
	return l.records.Now().Set, nil
}

// now returns the current time according to the library's clock.
func (l *Library) now() time.Time { return l.options.Clock() }

// AuthorKey returns the key of author references. See library.Library.
func (l *Library) AuthorKey() []byte { return append([]byte(nil), l.records.Now().AuthorKey...) }

// withView runs a read of a property with a view of the property at a time, or at the current time if the time is zero.
func withView[T any](ctx context.Context, l *Library, p library.PropertyID, at time.Time, read func(context.Context, *view) (T, error)) (out T, err error) {
	ctx, end, err := l.reading(ctx)
	if err != nil {
		return out, err
	}
	defer end()
	c, err := l.Served(p)
	if err != nil {
		return out, err
	}
	if at.IsZero() {
		at = l.now()
	}
	return read(ctx, newView(l.conn, c, at))
}

// withListing is like withView, for a read of the listing that r requests. It leaves out the selectors that OpenSearch refuses.
func withListing[T any](ctx context.Context, l *Library, r library.Read, read func(context.Context, *view, library.Listing) (T, error)) (T, error) {
	return withView(ctx, l, r.Property, r.Now, func(ctx context.Context, v *view) (out T, err error) {
		r.Now = v.now
		listing, err := v.catalogue.Listing(r)
		if err != nil {
			return out, err
		}
		return withoutRefused(ctx, v, func(v *view) (T, error) { return read(ctx, v, listing) })
	})
}
