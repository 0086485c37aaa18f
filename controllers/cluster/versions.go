package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

// errWentBack means that the API server is at an older resource version than before, for example after a restore of etcd. After that,
// existing watches receive nothing until the API server reaches the versions of the watches again.
var errWentBack = errors.New("the data of the API server went back in time: loading everything again")

// versions tracks the newest resource version of AccessTokens that the API server or an informer has shown. It tracks only one kind,
// because versions are comparable only within one resource and because all kinds are in the same etcd. That kind is AccessToken, because a
// missed deletion of a token is the most dangerous.
type versions struct {
	mu        sync.Mutex
	informers []toolscache.SharedIndexInformer
	newest    string
}

// newInformer creates an informer for the cache, and records it if it watches AccessTokens. The cache has one such informer for each
// watched namespace.
func (v *versions) newInformer(
	lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	i := toolscache.NewSharedIndexInformer(lw, example, resync, indexers)
	if _, ok := example.(*v1alpha1.AccessToken); ok {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.informers = append(v.informers, i)
	}
	return i
}

// advance records the resource version of the API server. It returns errWentBack if this version is older than the newest version seen
// before. The parameter in is a namespace in which the operator may list AccessTokens, or "" for all namespaces.
func (v *versions) advance(ctx context.Context, r client.Reader, in string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	// Read the versions of the informers before the request to the API server. The answer to that request then cannot be older than these
	// versions unless the data went back in time.
	for _, i := range v.informers {
		if seen := i.LastSyncResourceVersion(); older(v.newest, seen) {
			v.newest = seen
		}
	}
	// A list request without a resource version returns a version at least as new as the last write, even if the API server answers from
	// its cache.
	list := &v1alpha1.AccessTokenList{}
	if err := r.List(ctx, list, client.InNamespace(in), client.Limit(1)); err != nil {
		return fmt.Errorf("ask the API server for its resource version: %w", err)
	}
	if older(list.ResourceVersion, v.newest) {
		return errWentBack
	}
	v.newest = list.ResourceVersion
	return nil
}

// older reports whether version a is older than version b. "" is older than any other version. older returns false if the versions cannot
// be compared, for example if the API server is not conformant.
func older(a, b string) bool {
	if a == "" {
		return b != ""
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
