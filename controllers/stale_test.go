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

// TestStaleCache checks that a pass soon after another pass does not compare its new status with an outdated status from the cache. In the
// test, the cache still contains the status of a served object, while the status on the API server says that the object is waiting.
func TestStaleCache(t *testing.T) {
	ctx := context.Background()
	o := filter()
	o.Spec.Query = "approval_status:app"
	var behind *v1alpha1.ContentFilter // the object that the cache returns; nil means the real object
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

// TestForeignConditionStays checks that a pass keeps a condition that another writer adds between the read and the write of the pass, and
// that the pass still writes its own conditions. A change by another writer that concerns no condition must cause no second pass.
func TestForeignConditionStays(t *testing.T) {
	audited := metav1.Condition{Type: "Audited", Status: metav1.ConditionTrue, Reason: "Weekly", Message: "Audited."}
	tests := map[string]struct {
		change  func(ctx context.Context, c client.Client, o *v1alpha1.ContentFilter) error
		patches int
	}{
		"a condition": {
			change: func(ctx context.Context, c client.Client, o *v1alpha1.ContentFilter) error {
				meta.SetStatusCondition(&o.Status.Conditions, audited)
				return c.Status().Update(ctx, o)
			},
			patches: 2, // the first patch is refused, and the second is accepted
		},
		"an annotation": {
			change: func(ctx context.Context, c client.Client, o *v1alpha1.ContentFilter) error {
				o.Annotations = map[string]string{"audited": "weekly"}
				return c.Update(ctx, o)
			},
			patches: 1,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			o := filter()
			o.Spec.Query = "approval_status:app"
			patches := 0
			get := func(c client.Client) *v1alpha1.ContentFilter {
				t.Helper()
				now := &v1alpha1.ContentFilter{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
					t.Fatal(err)
				}
				return now
			}
			r, server := newReconciler(t, filterKind(), interceptor.Funcs{
				SubResourcePatch: func(ctx context.Context, c client.Client, name string, into client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
					if patches++; patches == 1 {
						if err := tc.change(ctx, c, get(c)); err != nil {
							return err
						}
					}
					return c.SubResource(name).Patch(ctx, into, patch, options...)
				},
			}, o)
			again := false
			for range 3 {
				result, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)})
				if err != nil {
					t.Fatal(err)
				}
				again = again || result.RequeueAfter > 0
			}
			now := get(server)
			if verdict.Ready(now).Reason != v1alpha1.ReasonServed || again != (tc.patches > 1) || patches != tc.patches {
				t.Errorf("the conditions are %+v after %d patches, want %d; reconciled again: %t", now.Status.Conditions, patches, tc.patches, again)
			}
			if !meta.IsStatusConditionTrue(now.Status.Conditions, "Audited") && now.Annotations["audited"] == "" {
				t.Error("the other writer's change is lost")
			}
		})
	}
}
