package controllers

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/server/library"
)

// secondOperatorReason is the reason of the event that reports, for a Property, that another operator runs in its namespace.
const secondOperatorReason = "SecondOperator"

// contestedAfter is how long the status of a token reports that another operator claims its Secret, before the operator that writes
// the Secret reports its own status again. It is longer than secretInterval, after which the other operator retries: the status
// reports the conflict most of the time while both operators run, and stops doing so when one of them stops.
const contestedAfter = secretInterval + secretInterval/2

// rivals records the AccessTokens with a Secret that the operator of another store writes. In a namespace with such a token, that operator
// also writes all other statuses. If both operators wrote them, each would overwrite the URLs and counts of the other endlessly.
type rivals struct {
	mu sync.Mutex
	// stores maps AccessTokens to the names of the other operators' stores.
	stores map[types.NamespacedName]string
}

func newRivals() *rivals { return &rivals{stores: map[types.NamespacedName]string{}} }

// note records which other store's operator writes the Secret of a token; "" means this operator or none. It returns true if the token was
// the last one in the namespace with another writer, and now has none.
func (r *rivals) note(token types.NamespacedName, store string) (freed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if store != "" {
		r.stores[token] = store
		return false
	}
	if _, ok := r.stores[token]; !ok {
		return false
	}
	delete(r.stores, token)
	return r.find(token.Namespace) == ""
}

// of returns the name of the store whose operator writes the statuses in a namespace. "" means this operator.
func (r *rivals) of(namespace string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.find(namespace)
}

func (r *rivals) find(namespace string) string {
	for token, store := range r.stores {
		if token.Namespace == namespace {
			return store
		}
	}
	return ""
}

// noteRival records which store's operator writes the Secret of a token. When the other operator has left a namespace, noteRival
// requeues all objects there, because they still have the statuses of that operator.
func (s *Set) noteRival(ctx context.Context, token client.Object, store string) error {
	if store == s.Store {
		store = ""
	}
	if !s.rivals.note(client.ObjectKeyFromObject(token), store) {
		return nil
	}
	for _, k := range kinds() {
		if k.Definition == library.KindToken {
			continue // tokens retry after secretInterval
		}
		err := s.each(ctx, k, client.InNamespace(token.GetNamespace()), func(o v1alpha1.Object) {
			s.queues.add(translate.Owner(s.Install, k.Definition, o))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// contested requeues a token after contestedAfter when its status changes to a conflict over its Secret. Another operator may have
// written that status and may have stopped since.
func contested() handler.EventHandler {
	tells := func(o client.Object) bool {
		return verdict.Ready(o.(*v1alpha1.AccessToken)).Reason == v1alpha1.ReasonSecretConflict
	}
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, ev event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if tells(ev.ObjectNew) && !tells(ev.ObjectOld) {
				queue.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(ev.ObjectNew)}, contestedAfter)
			}
		},
	}
}
