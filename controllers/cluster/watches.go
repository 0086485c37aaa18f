package cluster

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

// errWentBack means that the API server is at an older resource version than before, for example after a restore of etcd. After that,
// existing watches receive nothing until the API server reaches the versions of the watches again.
var errWentBack = errors.New("the data of the API server went back in time: loading everything again")

// watches are the watches of a manager. There is one for each kind of objects and each watched namespace.
type watches struct {
	mu      sync.Mutex
	sources []*source
	// newest is the newest resource version of AccessTokens that the API server or a watch has shown. Only one kind counts, because versions
	// are comparable only within one resource and because all kinds are in the same etcd. That kind is AccessToken, because a missed
	// deletion of a token is the most dangerous.
	newest string
}

// informer is an informer that reads from a source.
type informer struct {
	toolscache.SharedIndexInformer
	source *source
}

// newInformer creates an informer for the cache.
func (w *watches) newInformer(
	lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	s := newSource(lw, example.(client.Object))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sources = append(w.sources, s)
	return informer{toolscache.NewSharedIndexInformer(feed{s}, example, resync, indexers), s}
}

// Run implements toolscache.SharedInformer.
func (i informer) Run(stop <-chan struct{}) { i.RunWithContext(wait.ContextForChannel(stop)) }

// RunWithContext implements toolscache.SharedInformer.
func (i informer) RunWithContext(ctx context.Context) {
	ended := make(chan struct{})
	i.source.done = ctx.Done()
	go func() {
		defer close(ended)
		i.source.run(ctx)
	}()
	i.SharedIndexInformer.RunWithContext(ctx)
	<-ended
}

// all returns all sources.
func (w *watches) all() []*source {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sources[:len(w.sources):len(w.sources)]
}

// restart restarts all interrupted watches without delay.
func (w *watches) restart() {
	for _, s := range w.all() {
		s.restart()
	}
}

// hasten ends the pauses of the interrupted watches of one kind.
func (w *watches) hasten(k library.Kind) {
	example := reflect.TypeOf(v1alpha1.KindNamed(k.String()).New())
	for _, s := range w.all() {
		if reflect.TypeOf(s.example) == example {
			s.hasten()
		}
	}
}

// check returns an error if a watch is interrupted.
func (w *watches) check() error {
	var first error
	for _, s := range w.all() {
		if err := s.check(); first == nil {
			first = err
		}
	}
	return first
}

// advance records the resource version of the API server. It returns errWentBack if this version is older than the newest version seen
// before. The parameter in is a namespace in which the operator may list AccessTokens, or "" for all namespaces.
func (w *watches) advance(ctx context.Context, r client.Reader, in string) error {
	// Read the versions of the watches before the request to the API server. The answer to that request then cannot be older than these
	// versions unless the data went back in time.
	newest := w.seen()
	// A list request without a resource version returns a version at least as new as the last write, even if the API server answers from
	// its cache.
	list := &v1alpha1.AccessTokenList{}
	if err := r.List(ctx, list, client.InNamespace(in), client.Limit(1)); err != nil {
		return fmt.Errorf("ask the API server for its resource version: %w", err)
	}
	if older(list.ResourceVersion, newest) {
		return errWentBack
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.newest = list.ResourceVersion
	return nil
}

// seen returns the newest resource version of AccessTokens that the API server or a watch has shown.
func (w *watches) seen() string {
	sources := w.all()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range sources {
		if _, ok := s.example.(*v1alpha1.AccessToken); !ok {
			continue
		}
		if version := s.seen(); older(w.newest, version) {
			w.newest = version
		}
	}
	return w.newest
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
