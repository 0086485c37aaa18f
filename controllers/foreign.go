package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/server/library"
)

// correctAfter is the time between a change of a status by another writer and the pass that corrects it. The operator and a writer that
// insists on its own status therefore write at most once per correctAfter for each object.
const correctAfter = 2 * time.Second

// known records the status of each object that the last pass or the last write left, so that the operator notices changes by other writers.
type known struct {
	mu       sync.Mutex
	statuses map[writtenKey]knownStatus
}

// knownStatus is what known records of one status.
type knownStatus struct {
	digest [sha256.Size]byte
	// ready is the Ready condition of a suspended object, which cannot be evaluated again.
	ready metav1.Condition
}

func newKnown() *known { return &known{statuses: map[writtenKey]knownStatus{}} }

// note records the status of o. A write notes the new status before it sends the status, because the event may arrive before the response.
func (k *known) note(o v1alpha1.Object) {
	is := knownStatus{digest: digestOf(o)}
	if o.Suspended() {
		is.ready = verdict.Ready(o)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.statuses[keyOf(o)] = is
}

// forget drops the record of an object that no longer exists.
func (k *known) forget(o v1alpha1.Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.statuses, keyOf(o))
}

// has reports whether the status of o is the recorded one.
func (k *known) has(o v1alpha1.Object) bool {
	digest := digestOf(o)
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.statuses[keyOf(o)].digest == digest
}

// restore sets the Ready condition of a suspended object to the recorded one, if another writer may have changed it.
func (k *known) restore(o v1alpha1.Object) {
	k.mu.Lock()
	ready := k.statuses[keyOf(o)].ready
	k.mu.Unlock()
	if ready.Type != "" {
		meta.SetStatusCondition(o.StatusConditions(), ready)
	}
}

// digestOf returns the digest of the status of o, or the zero digest if the status cannot be encoded.
func digestOf(o v1alpha1.Object) [sha256.Size]byte {
	status, err := statusOf(o)
	if err != nil {
		return [sha256.Size]byte{}
	}
	text, err := json.Marshal(status)
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(text)
}

// foreign requeues an object of a kind after another writer has changed its status. It ignores the operator's own writes, and all statuses
// in a namespace in which another operator writes them, except those of AccessTokens.
//
// If the change reports a conflict over the Secret of a token, the writer is another operator, and foreign requeues the token only after
// contestedAfter.
func (s *Set) foreign(kind library.Kind) handler.EventHandler {
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, ev event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			o := ev.ObjectNew.(v1alpha1.Object)
			if o.GetResourceVersion() == ev.ObjectOld.GetResourceVersion() || s.known.has(o) {
				return
			}
			after := correctAfter
			switch {
			case kind != library.KindToken && s.rivals.of(o.GetNamespace()) != "":
				return
			case verdict.Ready(o).Reason == v1alpha1.ReasonSecretConflict:
				after = contestedAfter
			}
			queue.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}, after)
		},
	}
}
