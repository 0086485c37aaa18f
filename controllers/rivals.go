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

// secondOperatorReason is the reason of the event, about a Property, that tells of another operator in its namespace.
const secondOperatorReason = "SecondOperator"

// contestedAfter is how long a token is left to say that another operator claims its Secret, before the one that writes the
// Secret says its own again. It is longer than the other one takes to look again: the conflict stands there for as long as
// there are two, and no longer.
const contestedAfter = secretInterval + secretInterval/2

// rivals remembers the AccessTokens whose Secret the operator of another store writes. Where there is one, that operator
// writes the statuses of the namespace too: two that took turns would each tell of another address and of other counts,
// and write them over and over.
type rivals struct {
	mu sync.Mutex
	// stores are the names of the other operators' stores, by AccessToken.
	stores map[types.NamespacedName]string
}

func newRivals() *rivals { return &rivals{stores: map[types.NamespacedName]string{}} }

// note remembers whose the Secret of a token is, "" for ours or nobody's. It reports whether the namespace became free by that.
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

// of returns the name of the store whose operator writes the statuses in a namespace; "" when we do.
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

// noteRival notes which store's operator writes the Secret of a token. It requeues all objects of a namespace that the other operator
// has left: their statuses are still those of that operator.
func (s *Set) noteRival(ctx context.Context, token client.Object, store string) error {
	if store == s.Store {
		store = ""
	}
	if !s.rivals.note(client.ObjectKeyFromObject(token), store) {
		return nil
	}
	for _, k := range kinds() {
		if k.Definition == library.KindToken {
			continue // these look for themselves
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

// contested requeues a token some time after its status came to report a conflict over its Secret. Another operator may have written
// that, and may be gone by then.
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
