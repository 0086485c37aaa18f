package cluster

import (
	"context"
	"errors"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/controllers"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/webhooks"
)

// follower follows one cluster with one manager.
type follower struct {
	Options
	set *controllers.Set
	// client reads from the cache, and direct reads from the API server.
	client client.Client
	direct client.Reader
	// watches are the watches of the manager, and connections are its connections to the API server.
	watches     *watches
	connections *connections
	// http sends requests over these connections, and address is the URL of the version of the API server.
	http     *http.Client
	address  string
	removals *removals
	webhooks *webhooks.Deliverer
}

// lookTimeout is the time limit for the requests of one call of look. If they take longer, the API server counts as unreachable.
const lookTimeout = 5 * time.Second

// look checks that the API server still belongs to the same cluster, that its data did not go back in time, and that no other replica leads
// the library. It also records whether the CRD of one kind exists.
//
// If the requests take too long and the API server is silent, look closes all connections to the API server, because a connection that
// loses all packets never reports an error. The requests use the same connections as the watches.
func (f *follower) look(ctx context.Context, k library.Kind) error {
	if f.Lease != nil && f.deposed(ctx) {
		return library.ErrDeposed
	}
	limited, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	err := f.ask(limited, k)
	if errors.Is(limited.Err(), context.DeadlineExceeded) && !f.answers(ctx) {
		f.connections.CloseAll()
	}
	return err
}

// answerTimeout is the time limit for an answer that the API server gives without etcd.
const answerTimeout = time.Second

// answers reports whether the API server answers a request that it need not read anything for. While its etcd is down, an API server
// answers such requests, and its watches continue when etcd is back.
func (f *follower) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.address, nil)
	if err != nil {
		return false
	}
	resp, err := f.http.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // any answer counts, also a refusal
	return true
}

// ask sends the requests of one call of look.
func (f *follower) ask(ctx context.Context, k library.Kind) error {
	if err := f.sameCluster(ctx); err != nil {
		return err
	}
	if err := f.sameHistory(ctx); err != nil {
		return err
	}
	c, err := readCRD(ctx, f.direct, k)
	if err != nil {
		return err
	}
	f.removals.noteCRD(k, c)
	if !c.since.IsZero() {
		// If the CRD was missing, the watches pause for up to watchBackoff.Cap.
		f.watches.hasten(k)
	}
	return nil
}

// deposed reports whether another replica leads the library. To find out, it writes the name of the store again without a change, because
// each write by a deposed leader fails.
func (f *follower) deposed(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return errors.Is(f.Library.SetMark(ctx, markStore, f.set.Store), library.ErrDeposed)
}

// mayRemove returns the state of the CRD of a kind, which decides whether definitions of the kind may be removed. If the API server belongs
// to another cluster, it returns an error, and no definition may be removed.
func (f *follower) mayRemove(ctx context.Context, k library.Kind) (crd, error) {
	if err := f.sameCluster(ctx); err != nil {
		return crd{}, err
	}
	return readCRD(ctx, f.direct, k)
}
