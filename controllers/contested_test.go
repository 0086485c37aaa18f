package controllers

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/tokens"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/server/library"
)

// laterQueue records the objects that are requeued, with the delay of each.
type laterQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	after map[reconcile.Request]time.Duration
}

func (q *laterQueue) AddAfter(r reconcile.Request, d time.Duration) { q.after[r] = d }

// TestContested simulates another operator that reports a conflict over a token's Secret in the status of the token. It checks that the
// operator that writes the Secret restores its own status, but only after the other operator has had time to retry.
func TestContested(t *testing.T) {
	ctx := context.Background()
	r, server := newReconciler(t, tokenKind(), interceptor.Funcs{}, token(nil))
	r.Store = "ours"
	now := func() *v1alpha1.AccessToken {
		t.Helper()
		o := &v1alpha1.AccessToken{}
		if err := server.Get(ctx, storefront, o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	other := &reconciler{kind: r.kind, Set: newSet(server, server, r.Config)}
	other.Store = "theirs"
	other.Begin()
	pass := func(r *reconciler) *v1alpha1.AccessToken {
		t.Helper()
		if _, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: storefront}); err != nil {
			t.Fatal(err)
		}
		return now()
	}
	served := pass(r)
	claimed := pass(other)
	if was, is := verdict.Ready(served).Reason, verdict.Ready(claimed).Reason; was != v1alpha1.ReasonServed || is != v1alpha1.ReasonSecretConflict {
		t.Fatalf("the token was %s, and is %s with another operator", was, is)
	}

	requeued := func(from, to client.Object) time.Duration {
		queue := &laterQueue{after: map[reconcile.Request]time.Duration{}}
		r.foreign(library.KindToken).Update(ctx, event.UpdateEvent{ObjectOld: from, ObjectNew: to}, queue)
		return queue.after[reconcile.Request{NamespacedName: storefront}]
	}
	if requeued(served, served) != 0 || requeued(claimed, claimed) != 0 || requeued(claimed, served) != 0 {
		t.Error("requeued although the status is that of this operator")
	}
	if after := requeued(served, claimed); after <= secretInterval {
		t.Errorf("requeued after %v, want more than the interval of the other operator, %v", after, secretInterval)
	}
	changed := served.DeepCopy()
	changed.ResourceVersion, changed.Status.ObservedGeneration = "999", 999
	if after := requeued(served, changed); after != correctAfter {
		t.Errorf("requeued after %v when another writer changes the status, want %v", after, correctAfter)
	}
	if is := verdict.Ready(pass(r)).Reason; is != v1alpha1.ReasonServed {
		t.Errorf("the token is %s after another reconcile", is)
	}

	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "storefront"}}
	if err := server.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil || s.Annotations[tokens.StoreAnnotation] != "ours" {
		t.Errorf("the Secret is of store %q: %v", s.Annotations[tokens.StoreAnnotation], err)
	}
}
