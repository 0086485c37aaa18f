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

// waiters remembers which owners were refused for something that another object can change: a claim that is held, a
// Property that is not there. An owner is added before its definition is applied and taken off when that went well, so
// that a change in between is never missed.
type waiters struct {
	mu     sync.Mutex
	owners map[library.PropertyID]map[library.Owner]bool
	// missing holds the time at which each owner first found its Property missing.
	missing map[library.Owner]time.Time
}

// anyProperty stands for all properties: tokens that wait for a value which another token holds are under it.
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

// misses returns when o first found its Property missing, which is now if it had not before.
func (w *waiters) misses(o library.Owner, now time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.missing[o]; !ok {
		w.missing[o] = now
	}
	return w.missing[o]
}

// found notes that o has found its Property.
func (w *waiters) found(o library.Owner) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.missing, o)
}

// all returns everyone who waits.
func (w *waiters) all() []library.Owner {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []library.Owner
	for _, owners := range w.owners {
		list = slices.AppendSeq(list, maps.Keys(owners))
	}
	return list
}

// others returns who waits for something in p, besides o.
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

// queues lets a reconciler have objects of any kind looked at again.
type queues struct {
	mu sync.Mutex
	of map[library.Kind]workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func newQueues() *queues {
	return &queues{of: map[library.Kind]workqueue.TypedRateLimitingInterface[reconcile.Request]{}}
}

// source is the event source of one kind's controller through which add reaches its queue.
func (q *queues) source(k library.Kind) source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.of[k] = queue
		return nil
	})
}

// add enqueues the objects of these owners. A kind whose controller has not started yet looks at all its objects anyway.
func (q *queues) add(owners ...library.Owner) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, o := range owners {
		if queue := q.of[o.Kind]; queue != nil {
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.Namespace, Name: o.Name}})
		}
	}
}

// wakeRivals requeues the objects that may gain from a definition that was refused: the tag that its object claimed before is
// free, even if the one that the object claims now is not.
func (p *pass) wakeRivals(property library.PropertyID, owner library.Owner) {
	p.queues.add(p.result.Displaced...)
	// Tokens and units are left out. Their definitions carry times and new values, so that refused ones may differ in every
	// pass, and two of them would wake each other endlessly.
	if p.result.Changed && owner.Kind != library.KindToken && owner.Kind != library.KindUnit {
		p.queues.add(p.waiters.others(property, owner)...)
	}
}

// wakeOthers requeues the objects that lost a claim, those that may gain, and, when a Property changed, all that belongs to
// it.
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
		if k.Definition == library.KindProperty {
			continue
		}
		err := s.each(ctx, k, client.InNamespace(owner.Namespace), func(o v1alpha1.Object) {
			if o.PropertyName() == owner.Name {
				s.queues.add(translate.Owner(s.Install, k.Definition, o))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
