package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Config is what the reconcilers of one manager work with. Every member is required unless it says otherwise.
type Config struct {
	// Library is kept as the manifests say.
	Library library.Library
	// Install is the identity of the cluster, and Store the name of the library's store: of two operators with a store each, one alone
	// writes a Secret.
	Install, Store string
	// Removals decides what may be removed.
	Removals Removals
	// Events records what users should learn at once.
	Events events.EventRecorder
	// Metrics counts passes and writes.
	Metrics *Metrics
	// ExternalURL is the base of URLs in status and Secrets where the Property names none, without a trailing slash.
	ExternalURL string
	// CABundle is written as ca.crt beside each token, in PEM; nil for none.
	CABundle []byte
	// Clock tells the time.
	Clock func() time.Time
	// PropertyGrace is how long an object that finds its Property missing waits before its status and an event report that.
	PropertyGrace time.Duration
	// Logger gets what no status can tell.
	Logger logr.Logger
}

// Removals decides whether what an object declared may be removed. Objects also vanish from the cache when another cluster answers
// at the address of the API server, and when their CRD is deleted. Package cluster implements it.
type Removals interface {
	// Watch returns a predicate that passes every event about a kind and notes the deletions.
	Watch(kind library.Kind) predicate.Predicate
	// Exists notes that an object exists: nothing that it declared is held.
	Exists(owner library.Owner)
	// Permit returns nil when the object itself was deleted, and ErrHeld when the removal waits for confirmation. created is when the
	// object was created, according to the store.
	Permit(ctx context.Context, owner library.Owner, created time.Time) error
	// Removed notes that nothing of an object is left.
	Removed(owner library.Owner)
}

// ErrHeld says that a removal waits for vitrine sweep --confirm.
var ErrHeld = errors.New("the removal is held")

// Set is the reconcilers of one manager and what they share.
type Set struct {
	Config
	client client.Client
	// direct reads past the cache.
	direct  client.Reader
	begun   chan struct{} // closed by Begin
	waiters *waiters
	queues  *queues
	written *written
	rivals  *rivals
	// reported is how many statuses the reconcilers have written.
	reported atomic.Uint64
}

func newSet(c client.Client, direct client.Reader, config Config) *Set {
	return &Set{
		Config: config, client: c, direct: direct, begun: make(chan struct{}),
		waiters: newWaiters(), queues: newQueues(), written: newWritten(), rivals: newRivals(),
	}
}

// New makes the controllers of every kind in a manager. They wait for Begin.
func New(mgr manager.Manager, config Config) (*Set, error) {
	s := newSet(mgr.GetClient(), mgr.GetAPIReader(), config)
	skipNames := true // the process makes a manager again after every failure, with the same controllers
	for _, k := range kinds() {
		b := ctrl.NewControllerManagedBy(mgr).
			Named(strings.ToLower(k.Name)).
			For(k.New(), builder.WithPredicates(predicate.GenerationChangedPredicate{}, s.Removals.Watch(k.Definition))).
			WatchesRawSource(s.queues.source(k.Definition)).
			WithOptions(controller.Options{SkipNameValidation: &skipNames})
		if k.watch != nil {
			if err := k.watch(s, mgr, b); err != nil {
				return nil, err
			}
		}
		if err := b.Complete(&reconciler{Set: s, kind: k}); err != nil {
			return nil, fmt.Errorf("make the %s controller: %w", k.Name, err)
		}
	}
	return s, nil
}

// Begin lets the reconcilers begin, after the load.
func (s *Set) Begin() { close(s.begun) }

// RequeueWaiting reconciles every object that was refused for something that another definition held.
func (s *Set) RequeueWaiting() { s.queues.add(s.waiters.all()...) }
