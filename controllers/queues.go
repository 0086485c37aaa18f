package controllers

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/vitrine-dev/vitrine/server/library"
)

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
