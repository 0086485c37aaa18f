package controllers

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

func filter() *v1alpha1.ContentFilter {
	return &v1alpha1.ContentFilter{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "summer-wall", Generation: 3}}
}

func TestWritten(t *testing.T) {
	at := func(version string) *v1alpha1.ContentFilter {
		o := filter()
		o.ResourceVersion = version
		return o
	}
	w := newWritten()
	if w.stale(at("5")) {
		t.Error("an object without a write is stale")
	}
	w.note(at("10"))
	other := &v1alpha1.Tag{ObjectMeta: at("9").ObjectMeta}
	for _, step := range []struct {
		o    client.Object
		want bool
	}{
		{at("9"), true},
		{other, false},
		{at("9"), true},
		{at("?"), true}, // cannot be compared
		{at("10"), false},
		{at("9"), false}, // the record was dropped when the cache showed version 10, because the cache never goes back in time
	} {
		if got := w.stale(step.o); got != step.want {
			t.Errorf("%T at version %s: stale = %t, want %t", step.o, step.o.GetResourceVersion(), got, step.want)
		}
	}
}

// TestRequeueFailed checks that only objects whose last pass failed are requeued, without the delay of the work queue.
func TestRequeueFailed(t *testing.T) {
	broken := errors.New("the API server is unreachable")
	var failure error
	r, _ := newReconciler(t, tokenKind(), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, into client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			if failure != nil {
				return failure
			}
			return c.SubResource(name).Patch(ctx, into, patch, options...)
		},
	}, token(nil))
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	r.queues.of[library.KindToken] = queue
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(token(nil))}
	for _, want := range []int{1, 0} {
		failure = nil
		if want > 0 {
			failure = broken
		}
		if _, err := r.Reconcile(t.Context(), request); !errors.Is(err, failure) {
			t.Fatalf("the pass returned %v, want %v", err, failure)
		}
		r.RequeueFailed()
		if got := queue.Len(); got != want {
			t.Fatalf("after a pass with error %v, %d objects are requeued, want %d", failure, got, want)
		}
		for range want {
			got, _ := queue.Get()
			queue.Done(got)
			if got != request {
				t.Errorf("requeued %v, want %v", got, request)
			}
		}
	}
}

func TestWaiters(t *testing.T) {
	owner := func(name string) library.Owner {
		return library.Owner{Install: "c", Kind: library.KindTag, Namespace: "shop", Name: name}
	}
	w := newWaiters()
	w.add("shop/default", owner("a"))
	w.add("shop/default", owner("b"))
	w.add("shop/outlet", owner("c"))
	w.remove("shop/default", owner("never added"))
	if diff := cmp.Diff([]library.Owner{owner("b")}, w.others("shop/default", owner("a"))); diff != "" {
		t.Errorf("others (-want +got):\n%s", diff)
	}
	if n := len(w.all()); n != 3 {
		t.Errorf("%d wait, want 3", n)
	}
	w.remove("shop/default", owner("b"))
	if got := w.others("shop/default", owner("a")); len(got) != 0 {
		t.Errorf("others after the last was removed: %v", got)
	}
}
