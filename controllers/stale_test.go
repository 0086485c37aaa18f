package controllers

import (
	"context"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

// TestStaleCache holds that a round which follows close upon another one does not take the status of before for the present
// one: here the cache still shows an object as it was served at first, while the API server has it waiting.
func TestStaleCache(t *testing.T) {
	ctx := context.Background()
	o := filter()
	o.Spec.Query = "approval_status:app"
	var behind *v1alpha1.ContentFilter // what the cache shows, nil for what there is
	r, server := newReconciler(t, filterKind(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
			if f, ok := into.(*v1alpha1.ContentFilter); ok && behind != nil {
				behind.DeepCopyInto(f)
				return nil
			}
			return c.Get(ctx, key, into, options...)
		},
	}, o)
	reconcile := func(wantReason string) {
		t.Helper()
		if _, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)}); err != nil {
			t.Fatal(err)
		}
		now := &v1alpha1.ContentFilter{}
		if err := server.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
			t.Fatal(err)
		}
		if got := readyCondition(now).Reason; got != wantReason {
			t.Fatalf("the API server has Ready %s, want %s", got, wantReason)
		}
	}

	reconcile(v1alpha1.ReasonServed)
	served := &v1alpha1.ContentFilter{}
	if err := server.Get(ctx, client.ObjectKeyFromObject(o), served); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Library.Remove(ctx, []library.Owner{property.Owner}); err != nil {
		t.Fatal(err)
	}
	reconcile(v1alpha1.ReasonPropertyNotFound)

	applyProperty(t, r.Library)
	behind = served
	reconcile(v1alpha1.ReasonServed)
}
