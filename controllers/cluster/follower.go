package cluster

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/controllers"
	"github.com/vitrine-dev/vitrine/server/library"
)

// follower follows one cluster with one manager.
type follower struct {
	Options
	set *controllers.Set
	// client reads from the cache, and direct reads from the API server.
	client client.Client
	direct client.Reader
	// versions tracks the newest resource version that the follower has seen.
	versions *versions
	removals *removals
}

// lookTimeout is the time limit for the requests of one call of look. If they take longer, the API server counts as unreachable.
const lookTimeout = 5 * time.Second

// look checks that the API server still belongs to the same cluster, that its data did not go back in time, and that no other replica leads
// the library. It also records whether the CRD of one kind exists.
func (f *follower) look(ctx context.Context, k library.Kind) error {
	if f.Lease != nil && f.deposed(ctx) {
		return library.ErrDeposed
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if err := f.sameCluster(ctx); err != nil {
		return err
	}
	if err := f.sameHistory(ctx); err != nil {
		return err
	}
	c, err := readCRD(ctx, f.direct, k)
	if err == nil {
		f.removals.noteCRD(k, c)
	}
	return err
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
