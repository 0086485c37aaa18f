package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers"
	"github.com/vitrine-dev/vitrine/server/library"
)

// installCRDs is the command that installs the CRDs.
const installCRDs = "kubectl apply --server-side -k config/crd"

// sweepHeldReason is the reason of the event that reports held removals in a namespace.
const sweepHeldReason = "SweepHeld"

// removalInterval is the minimum time between two requests to the API server about removals of one kind. It limits the load on the API
// server when a namespace with thousands of objects is deleted: the operator sends a few requests per second instead of one for each
// object.
const removalInterval = 100 * time.Millisecond

// crdName returns the name of the CRD of a kind.
func crdName(k library.Kind) string {
	return v1alpha1.KindNamed(k.String()).Resource().GroupResource().String()
}

// crd is the state of the CRD of a kind.
type crd struct {
	// since is the creation time of the CRD. It is zero while the CRD is missing or being deleted.
	since time.Time
}

// tookAway reports whether an object that no longer exists was deleted with its CRD. created is the creation time of the object. The API
// server deletes the objects of a CRD after it has marked the CRD as being deleted. An object that is older than the present CRD was
// therefore deleted with an earlier CRD.
func (c crd) tookAway(created time.Time) bool { return c.since.IsZero() || created.Before(c.since) }

// readCRD reads the CRD of a kind from the API server.
func readCRD(ctx context.Context, r client.Reader, k library.Kind) (crd, error) {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := r.Get(ctx, types.NamespacedName{Name: crdName(k)}, o)
	switch {
	case apierrors.IsNotFound(err):
		return crd{}, nil
	case err != nil:
		return crd{}, fmt.Errorf("read the CRD %s: %w", crdName(k), err)
	case !o.DeletionTimestamp.IsZero():
		return crd{}, nil
	}
	return crd{since: o.CreationTimestamp.Time}, nil
}

// deletion describes the deletion of an object, as reported by an informer.
type deletion struct {
	seen, created time.Time
}

// guard decides whether objects of one kind that have vanished from the cache were deleted individually. Objects also vanish if their CRD
// is deleted, or if another cluster responds at the address of the API server.
//
// The guard asks the API server, and uses the answer for every deletion that an informer reported before the request. If objects vanish
// because their CRD was deleted or because another cluster responds, that cause precedes the report of the informer. A request that is sent
// after the report therefore reveals the cause. The answer to a request that was sent before the report proves nothing.
type guard struct {
	ask func(context.Context) (crd, error)

	mu        sync.Mutex
	deletions map[types.NamespacedName]deletion

	asking sync.Mutex // locked during a request; callers that wait for the lock may use the answer to this request
	asked  time.Time
	answer crd
	err    error
}

func newGuard(ask func(context.Context) (crd, error)) *guard {
	return &guard{ask: ask, deletions: map[types.NamespacedName]deletion{}}
}

// sight returns a predicate that records the deletions that informers report. It lets all events pass.
func (g *guard) sight() predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(ev event.DeleteEvent) bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.deletions[client.ObjectKeyFromObject(ev.Object)] = deletion{seen: time.Now(), created: ev.Object.GetCreationTimestamp().Time}
		return true
	}}
}

// forget drops the record of the deletion of an object.
func (g *guard) forget(name types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.deletions, name)
}

// permit returns nil if the object itself was deleted, and controllers.ErrHeld if it was deleted with its CRD. created is the
// creation time of the object according to the store.
func (g *guard) permit(ctx context.Context, name types.NamespacedName, created time.Time) error {
	called := time.Now()
	g.mu.Lock()
	gone, ok := g.deletions[name]
	g.mu.Unlock()
	if !ok {
		gone = deletion{seen: called, created: created}
	}
	answer, err := g.since(ctx, gone.seen, called)
	switch {
	case err != nil:
		return err
	case answer.tookAway(gone.created):
		return controllers.ErrHeld
	}
	return nil
}

// since returns the answer to a request that was sent after seen, the time at which an informer reported a deletion. called is the time of
// the call. Calls that wait for the same request share its error. A call that begins after a failed request sends a new request.
func (g *guard) since(ctx context.Context, seen, called time.Time) (crd, error) {
	g.asking.Lock()
	defer g.asking.Unlock()
	if g.err == nil && g.asked.After(seen) || g.asked.After(called) {
		return g.answer, g.err
	}
	if wait := time.Until(g.asked.Add(removalInterval)); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return crd{}, ctx.Err()
		}
	}
	g.asked = time.Now()
	g.answer, g.err = g.ask(ctx)
	return g.answer, g.err
}

// removals implements controllers.Removals for one manager.
type removals struct {
	guards map[library.Kind]*guard
	holds  *holds
	events events.EventRecorder
	log    logr.Logger
}

var _ controllers.Removals = (*removals)(nil)

// newRemovals returns the removals of a manager. They call ask to query the API server.
func newRemovals(h *holds, recorder events.EventRecorder, log logr.Logger, ask func(context.Context, library.Kind) (crd, error)) *removals {
	r := &removals{guards: map[library.Kind]*guard{}, holds: h, events: recorder, log: log}
	for _, k := range library.Kinds() {
		r.guards[k] = newGuard(func(ctx context.Context) (crd, error) {
			c, err := ask(ctx, k)
			if err == nil {
				r.noteCRD(k, c)
			}
			return c, err
		})
	}
	return r
}

func nameOf(owner library.Owner) types.NamespacedName {
	return types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}
}

// Watch implements controllers.Removals.
func (r *removals) Watch(k library.Kind) predicate.Predicate { return r.guards[k].sight() }

// Exists implements controllers.Removals.
func (r *removals) Exists(owner library.Owner) {
	r.guards[owner.Kind].forget(nameOf(owner))
	r.holds.drop(owner)
}

// Permit implements controllers.Removals.
func (r *removals) Permit(ctx context.Context, owner library.Owner, created time.Time) error {
	if r.holds.has(owner) {
		return controllers.ErrHeld
	}
	err := r.guards[owner.Kind].permit(ctx, nameOf(owner), created)
	if errors.Is(err, controllers.ErrHeld) {
		r.hold(owner)
	}
	return err
}

// Removed implements controllers.Removals.
func (r *removals) Removed(owner library.Owner) { r.guards[owner.Kind].forget(nameOf(owner)) }

// noteCRD records whether the CRD of a kind exists, and logs that it has disappeared or is back.
func (r *removals) noteCRD(k library.Kind, c crd) {
	switch absent := c.since.IsZero(); {
	case !r.holds.note(k, absent):
	case absent:
		r.log.Info("CRD is missing or being deleted; still serving what its objects declared", "crd", crdName(k), "do", installCRDs)
	default:
		r.log.Info("CRD is back", "crd", crdName(k))
	}
}

// hold keeps the definitions of missing objects until the objects are back or a user confirms the sweep. If nothing was held in a namespace
// before, hold also reports the hold with an event in that namespace.
func (r *removals) hold(owners ...library.Owner) {
	for _, ns := range r.holds.add(owners...) {
		// Set the namespace of this Namespace object, because client-go writes an Event to the namespace of the object that the Event is about.
		// The operator may write Events to ns, and the users whose manifests are missing can see them there.
		regarded := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: ns}}
		r.events.Eventf(regarded, nil, corev1.EventTypeWarning, sweepHeldReason, "Sweep",
			"Manifests of this namespace are missing in the cluster, and the server keeps serving what they declared: apply these manifests, or run vitrine sweep --confirm to remove what they declared")
	}
}
