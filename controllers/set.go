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
	"github.com/vitrine-dev/vitrine/server/webhooks"
)

// Config configures the reconcilers of one manager. All fields are required unless their comment says otherwise.
type Config struct {
	// Library is the library that the reconcilers keep in sync with the manifests.
	Library library.Library
	// Install is the identity of the cluster, and Store is the name of the library's store. If operators with different stores watch the
	// same objects, only one of the operators writes each Secret.
	Install, Store string
	// Namespaced is true if the manager watches only some namespaces. The operator then cannot read the labels of namespaces.
	Namespaced bool
	// Removals decides which definitions may be removed.
	Removals Removals
	// Events records the events of objects.
	Events events.EventRecorder
	// Metrics counts passes and writes.
	Metrics *Metrics
	// ExternalURL is the base URL, without a trailing slash, in statuses and Secrets if the Property does not set its own base URL.
	ExternalURL string
	// Login is true if the server has an identity provider, through which people log in to the console.
	Login bool
	// CABundle is the PEM bundle that each token's Secret contains as ca.crt; nil for none.
	CABundle []byte
	// Webhooks delivers what the Webhooks declare. It calls Requeue when the deliveries of a Webhook begin to fail or to succeed.
	Webhooks *webhooks.Deliverer
	// Clock returns the current time.
	Clock func() time.Time
	// PropertyGrace is the time for which an object may lack its Property, and for which the library may stop serving a Property, before
	// the status and an event report the problem.
	PropertyGrace time.Duration
	// Logger receives errors that no status can report.
	Logger logr.Logger
}

// Removals decides whether the operator may remove the definition of an object that vanished from the cache. An object vanishes not only
// when it is deleted, but also when its CRD is deleted or when another cluster responds at the address of the API server. Package cluster
// implements this interface.
type Removals interface {
	// Watch returns a predicate that passes all events of a kind and records the deletions.
	Watch(kind library.Kind) predicate.Predicate
	// Exists records that an object exists, and ends the hold on its definition.
	Exists(owner library.Owner)
	// Permit returns nil if the object itself was deleted, and ErrHeld if the removal has to wait for a confirmation. created is the creation
	// time of the object according to the store.
	Permit(ctx context.Context, owner library.Owner, created time.Time) error
	// Removed records that the definition of an object has been removed.
	Removed(owner library.Owner)
}

// ErrHeld means that a removal waits until a user runs vitrine sweep --confirm.
var ErrHeld = errors.New("the removal is held")

// Set contains the shared state of the reconcilers of one manager.
type Set struct {
	Config
	client client.Client
	// direct reads from the API server instead of the cache.
	direct   client.Reader
	begun    chan struct{} // closed by Begin
	waiters  *waiters
	queues   *queues
	written  *written
	known    *known
	rivals   *rivals
	serving  *serving
	failures *failures
	// reported counts the status writes by the reconcilers.
	reported atomic.Uint64
}

func newSet(c client.Client, direct client.Reader, config Config) *Set {
	return &Set{
		Config: config, client: c, direct: direct, begun: make(chan struct{}),
		waiters: newWaiters(), queues: newQueues(), written: newWritten(), known: newKnown(), rivals: newRivals(), serving: newServing(),
		failures: &failures{owners: map[library.Owner]bool{}},
	}
}

// New adds the controllers of all kinds to a manager. They reconcile nothing until Begin is called.
func New(mgr manager.Manager, config Config) (*Set, error) {
	s := newSet(mgr.GetClient(), mgr.GetAPIReader(), config)
	skipNames := true // after every failure, the process creates a new manager, whose controllers have the same names
	for _, k := range kinds() {
		if err := indexProperty(mgr, k); err != nil {
			return nil, err
		}
		b := ctrl.NewControllerManagedBy(mgr).
			Named(strings.ToLower(k.Name)).
			For(k.New(), builder.WithPredicates(predicate.GenerationChangedPredicate{}, s.Removals.Watch(k.definition))).
			Watches(k.New(), s.foreign(k.definition)).
			WatchesRawSource(s.queues.source(k.definition)).
			WithOptions(controller.Options{SkipNameValidation: &skipNames})
		if k.watch != nil {
			if err := k.watch(s, mgr, b); err != nil {
				return nil, err
			}
		}
		if err := b.Complete(&reconciler{Set: s, kind: k}); err != nil {
			return nil, fmt.Errorf("create the %s controller: %w", k.Name, err)
		}
	}
	return s, nil
}

// Begin starts the reconcilers. The caller calls it once, after Load.
func (s *Set) Begin() { close(s.begun) }

// RequeueWaiting requeues every object whose definition was refused because of another object, such as the holder of a claim.
func (s *Set) RequeueWaiting() { s.queues.add(s.waiters.all()...) }

// Requeue requeues the object of an owner.
func (s *Set) Requeue(owner library.Owner) { s.queues.add(owner) }

// RequeueFailed requeues every object whose last pass failed. Call it when a cause of many failures is over, such as an outage of the API
// server: after a long outage, the work queues would wait for minutes until the next attempt.
func (s *Set) RequeueFailed() { s.queues.add(s.failures.all()...) }
