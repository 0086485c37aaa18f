package controllers

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
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
		if got := verdict.Ready(now).Reason; got != wantReason {
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

// TestForeignConditionStays holds that a condition which another writer adds between the read and the write of a round is kept,
// and that the round's own ones are written anyway.
func TestForeignConditionStays(t *testing.T) {
	ctx := context.Background()
	o := filter()
	o.Spec.Query = "approval_status:app"
	late := true
	patches := 0
	r, server := newReconciler(t, filterKind(), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, into client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			patches++
			if late {
				late = false
				now := &v1alpha1.ContentFilter{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(into), now); err != nil {
					return err
				}
				meta.SetStatusCondition(&now.Status.Conditions, metav1.Condition{Type: "Audited", Status: metav1.ConditionTrue, Reason: "Weekly"})
				if err := c.Status().Update(ctx, now); err != nil {
					return err
				}
			}
			return c.SubResource(name).Patch(ctx, into, patch, options...)
		},
	}, o)
	reconcile := func() ctrl.Result {
		t.Helper()
		result, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	if reconcile().RequeueAfter == 0 {
		t.Error("a status that could not be written is not tried again")
	}
	if reconcile().RequeueAfter != 0 {
		t.Error("a status that is written is tried again")
	}
	reconcile()
	now := &v1alpha1.ContentFilter{}
	if err := server.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
		t.Fatal(err)
	}
	if !meta.IsStatusConditionTrue(now.Status.Conditions, "Audited") || verdict.Ready(now).Reason != v1alpha1.ReasonServed {
		t.Errorf("the conditions are %v", told(now))
	}
	if patches != 2 {
		t.Errorf("%d patches, want one that was refused and one that was taken", patches)
	}
}
