package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=accesstokens.vitrine.dev;activateunits.vitrine.dev;contentfilters.vitrine.dev;properties.vitrine.dev;tags.vitrine.dev,verbs=get

// installCRDs is what to do while a CRD is missing.
const installCRDs = "kubectl apply --server-side -k config/crd"

// removalInterval is the shortest time between two questions to the API server about removals of one kind: deleting a
// namespace with thousands of objects asks a few times a second, not once for each object.
const removalInterval = 100 * time.Millisecond

// errHeld says that a removal waits for vitrine sweep --confirm.
var errHeld = errors.New("the removal is held")

// crdName returns the name of the CRD of a kind.
func crdName(k kind) string {
	plural, _ := meta.UnsafeGuessKindToResource(v1alpha1.GroupVersion.WithKind(k.library.String()))
	return plural.GroupResource().String()
}

// crd is what is known of the CRD of a kind.
type crd struct {
	// since is when the CRD was created. It is zero while the CRD is missing or being deleted.
	since time.Time
}

// tookAway reports whether an object that was created at a time, and is gone, was deleted with its CRD. The API server deletes
// the objects of a CRD after it has marked the CRD as being deleted, so an object that is older than the present CRD was deleted
// with an earlier one.
func (c crd) tookAway(created time.Time) bool { return c.since.IsZero() || created.Before(c.since) }

// readCRD reads the CRD of a kind past any cache.
func readCRD(ctx context.Context, r client.Reader, k kind) (crd, error) {
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

// deletion is what an informer reported of an object that is gone.
type deletion struct {
	seen, created time.Time
}

// guard decides whether the objects of one kind that have vanished from the cache were deleted one by one. They also vanish
// when another cluster answers at the address of the API server, and when their CRD is deleted.
//
// An answer of the API server is valid for every object whose deletion was seen before the question was asked, because an
// object that vanished for one of those two reasons did so after the reason existed. An older answer says nothing.
type guard struct {
	ask func(context.Context) (crd, error)

	mu        sync.Mutex
	deletions map[types.NamespacedName]deletion

	asking sync.Mutex // held during a question; those that wait for it may use the answer
	asked  time.Time
	answer crd
	err    error
}

func newGuard(ask func(context.Context) (crd, error)) *guard {
	return &guard{ask: ask, deletions: map[types.NamespacedName]deletion{}}
}

// sight is a predicate that passes all events and notes when a deletion was seen.
func (g *guard) sight() predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(ev event.DeleteEvent) bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.deletions[client.ObjectKeyFromObject(ev.Object)] = deletion{seen: time.Now(), created: ev.Object.GetCreationTimestamp().Time}
		return true
	}}
}

// forget drops what was noted of an object.
func (g *guard) forget(name types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.deletions, name)
}

// permit fails unless the object itself was deleted: with errHeld when it was deleted with its CRD. created is when the object
// was created, according to the store.
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
		return errHeld
	}
	return nil
}

// since returns an answer to a question that was asked after a deletion was seen. Failures are shared by those who wait
// for one question, and are not kept for later calls.
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

// mayRemove asks the API server whether removals of a kind are meant.
func (e *environment) mayRemove(ctx context.Context, k kind) (crd, error) {
	if err := e.sameCluster(ctx); err != nil {
		return crd{}, err
	}
	c, err := readCRD(ctx, e.direct, k)
	if err == nil {
		e.noteCRD(k, c)
	}
	return c, err
}

// noteCRD logs when the CRD of a kind disappears, and when it is back.
func (e *environment) noteCRD(k kind, c crd) {
	switch e.holds.note(k.library, c.since.IsZero()) {
	case crdGone:
		e.Logger.Info("CRD is missing or being deleted; still serving what its objects declared", "crd", crdName(k), "do", installCRDs)
	case crdBack:
		e.Logger.Info("CRD is back", "crd", crdName(k))
	}
}

// hold keeps what manifests declared that are no longer in the cluster, until they are back or the sweep is confirmed. An event
// reports it in each namespace where nothing was held before.
func (e *environment) hold(owners ...library.Owner) {
	for _, ns := range e.holds.add(owners...) {
		// client-go writes an Event into the namespace of the object that it regards: the operator may write there, and the users
		// whose manifests are missing see it.
		regarded := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: ns}}
		e.events.Eventf(regarded, nil, corev1.EventTypeWarning, sweepHeldReason, "Sweep",
			"Apply the manifests of this namespace that are missing in the cluster, or run vitrine sweep --confirm to remove what they declared")
	}
}

// holds are the removals that wait for confirmation. They outlive a manager.
type holds struct {
	gauge  prometheus.Gauge
	mu     sync.Mutex
	owners map[library.Owner]bool
	// perNamespace counts owners.
	perNamespace map[string]int
	// absent are the kinds whose CRD is missing or being deleted.
	absent map[library.Kind]bool
}

func newHolds(gauge prometheus.Gauge) *holds {
	return &holds{gauge: gauge, owners: map[library.Owner]bool{}, perNamespace: map[string]int{}, absent: map[library.Kind]bool{}}
}

// add holds owners, and returns the namespaces in which nothing was held before.
func (h *holds) add(owners ...library.Owner) (namespaces []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range owners {
		if h.owners[o] {
			continue
		}
		if h.perNamespace[o.Namespace] == 0 {
			namespaces = append(namespaces, o.Namespace)
		}
		h.owners[o] = true
		h.perNamespace[o.Namespace]++
	}
	h.gauge.Set(float64(len(h.owners)))
	return namespaces
}

// drop ends the hold on owners: they are back, or were removed.
func (h *holds) drop(owners ...library.Owner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range owners {
		if h.owners[o] {
			delete(h.owners, o)
			h.perNamespace[o.Namespace]--
		}
	}
	h.gauge.Set(float64(len(h.owners)))
}

// has reports whether the removal of what o declared is held.
func (h *holds) has(o library.Owner) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.owners[o]
}

// all returns every owner that is held.
func (h *holds) all() []library.Owner {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.owners))
}

// len returns the number of definitions that are held.
func (h *holds) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.owners)
}

// What note returns.
const (
	crdSame = iota
	crdGone
	crdBack
)

// note remembers whether the CRD of a kind is absent, and returns what changed.
func (h *holds) note(k library.Kind, absent bool) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.absent[k]
	h.absent[k] = absent
	switch {
	case absent && !was:
		return crdGone
	case was && !absent:
		return crdBack
	}
	return crdSame
}

// missing names the CRDs that are absent, "" when none is.
func (h *holds) missing() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for _, k := range kinds() {
		if h.absent[k.library] {
			names = append(names, crdName(k))
		}
	}
	return strings.Join(names, ", ")
}
