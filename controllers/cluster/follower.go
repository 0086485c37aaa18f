package cluster

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/controllers"
	"github.com/vitrine-dev/vitrine/server/library"
)

// follower follows one cluster by one manager.
type follower struct {
	Options
	set *controllers.Set
	// client reads the cache, and direct past it.
	client client.Client
	direct client.Reader
	// versions is how far the caches have come.
	versions *versions
	removals *removals
}

// lookTimeout is how long the API server may take to answer one look before it counts as unreachable.
const lookTimeout = 5 * time.Second

// look checks which cluster the API server belongs to, whether its data went back in time, and whether the CRD of one kind is
// there.
func (f *follower) look(ctx context.Context, k library.Kind) error {
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

// mayRemove asks the API server whether removals of a kind are meant.
func (f *follower) mayRemove(ctx context.Context, k library.Kind) (crd, error) {
	if err := f.sameCluster(ctx); err != nil {
		return crd{}, err
	}
	return readCRD(ctx, f.direct, k)
}
