package controllers

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// waiters records the owners whose definitions are refused because of something that another object can change: a claim that is held, or a
// Property that is missing. A pass adds an owner before it applies the definition, and removes the owner after the definition was accepted.
// A change that another object makes in between therefore requeues the owner.
type waiters struct {
	mu     sync.Mutex
	owners map[library.PropertyID]map[library.Owner]bool
	// missing maps each owner to the time at which a pass first found its Property missing.
	missing map[library.Owner]time.Time
}

// anyProperty stands for all properties. While a token waits for a value that another token holds, it is recorded under anyProperty,
// because the other token may belong to any Property.
const anyProperty library.PropertyID = ""

func newWaiters() *waiters {
	return &waiters{owners: map[library.PropertyID]map[library.Owner]bool{}, missing: map[library.Owner]time.Time{}}
}

func (w *waiters) add(p library.PropertyID, o library.Owner) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.owners[p] == nil {
		w.owners[p] = map[library.Owner]bool{}
	}
	w.owners[p][o] = true
}

func (w *waiters) remove(p library.PropertyID, o library.Owner) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.owners[p], o)
	if len(w.owners[p]) == 0 {
		delete(w.owners, p)
	}
}

// misses returns the time at which a pass first found the Property of o missing. If no earlier pass has found it missing, that time is now.
func (w *waiters) misses(o library.Owner, now time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.missing[o]; !ok {
		w.missing[o] = now
	}
	return w.missing[o]
}

// found records that the Property of o exists.
func (w *waiters) found(o library.Owner) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.missing, o)
}

// all returns all waiting owners.
func (w *waiters) all() []library.Owner {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []library.Owner
	for _, owners := range w.owners {
		list = slices.AppendSeq(list, maps.Keys(owners))
	}
	return list
}

// others returns the owners other than o that wait for something in p.
func (w *waiters) others(p library.PropertyID, o library.Owner) []library.Owner {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []library.Owner
	for waiting := range w.owners[p] {
		if waiting != o {
			list = append(list, waiting)
		}
	}
	return list
}

// failures records the objects whose last pass failed. The work queue of a controller retries them with an increasing backoff.
type failures struct {
	mu     sync.Mutex
	owners map[library.Owner]bool
}

// note records whether the last pass of an object failed.
func (f *failures) note(o library.Owner, failed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if failed {
		f.owners[o] = true
	} else {
		delete(f.owners, o)
	}
}

// all returns the objects whose last pass failed.
func (f *failures) all() []library.Owner {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.owners))
}

// queues gives reconcilers access to the work queues of all kinds.
type queues struct {
	mu sync.Mutex
	of map[library.Kind]workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func newQueues() *queues {
	return &queues{of: map[library.Kind]workqueue.TypedRateLimitingInterface[reconcile.Request]{}}
}

// source returns an event source for the controller of a kind. It produces no events. The source makes the work queue of the controller
// available to add.
func (q *queues) source(k library.Kind) source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.of[k] = queue
		return nil
	})
}

// add enqueues the objects of owners. It skips a kind whose controller has not started yet: that controller reconciles all of its
// objects when it starts.
func (q *queues) add(owners ...library.Owner) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, o := range owners {
		if queue := q.of[o.Kind]; queue != nil {
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.Namespace, Name: o.Name}})
		}
	}
}

// wakeRivals requeues the objects that may gain a claim because the definition of another object was refused. The refused object no longer
// holds the tag that it claimed before, even though it did not get the tag that it claims now.
func (p *pass) wakeRivals(property library.PropertyID, owner library.Owner) {
	p.queues.add(p.result.Displaced...)
	// Exclude tokens and units. Their definitions contain times and new values, so a refused definition of such an object may differ in every
	// pass, and two objects that claim the same thing would requeue each other endlessly.
	if p.result.Changed && owner.Kind != library.KindToken && owner.Kind != library.KindUnit {
		p.queues.add(p.waiters.others(property, owner)...)
	}
}

// wakeOthers requeues the objects that lost a claim and the objects that may gain a claim. If a Property changed, it also requeues all
// objects that belong to it.
func (s *Set) wakeOthers(ctx context.Context, p library.PropertyID, owner library.Owner, displaced []library.Owner) error {
	s.queues.add(displaced...)
	s.queues.add(s.waiters.others(p, owner)...)
	if owner.Kind == library.KindToken || owner.Kind == library.KindProperty {
		s.queues.add(s.waiters.others(anyProperty, owner)...)
	}
	if owner.Kind != library.KindProperty {
		return nil
	}
	for _, k := range kinds() {
		if k.definition == library.KindProperty {
			continue
		}
		err := s.each(ctx, k, client.MatchingFields{propertyIndex: string(p)}, func(o v1alpha1.Object) {
			s.queues.add(translate.Owner(s.Install, k.definition, o))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
