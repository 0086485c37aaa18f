package controllers

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// secondOperatorReason is the reason of the event on a Property that reports a second operator in its namespace.
const secondOperatorReason = "SecondOperator"

// contestedAfter is the time for which a token's status may report that another operator claims the Secret, before the operator that writes
// the Secret restores its own status. The other operator retries after secretInterval. contestedAfter is longer, so that the status reports
// the conflict most of the time while both operators run, and stops reporting it after the other operator has stopped.
const contestedAfter = secretInterval + secretInterval/2

// rivals records the AccessTokens whose Secret is written by the operator of another store. In a namespace with such a token, the other
// operator also writes all other statuses. If both operators wrote them, each would endlessly overwrite the URLs and counts of the other.
type rivals struct {
	mu sync.Mutex
	// stores maps AccessTokens to the names of the other operators' stores.
	stores map[types.NamespacedName]string
}

func newRivals() *rivals { return &rivals{stores: map[types.NamespacedName]string{}} }

// note records the store of another operator that writes the Secret of a token, or "" if no other operator writes it. It returns true if,
// because of this change, no Secret of a token in the namespace is written by another operator any longer.
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

// noteRival records the store of the operator that writes the Secret of a token. After the other operator has left a namespace, noteRival
// requeues all objects there, because they still have the statuses of that operator.
func (s *Set) noteRival(ctx context.Context, token client.Object, store string) error {
	if store == s.Store {
		store = ""
	}
	if !s.rivals.note(client.ObjectKeyFromObject(token), store) {
		return nil
	}
	for _, k := range kinds() {
		if k.definition == library.KindToken {
			continue // tokens retry after secretInterval
		}
		err := s.each(ctx, k, client.InNamespace(token.GetNamespace()), func(o v1alpha1.Object) {
			s.queues.add(translate.Owner(s.Install, k.definition, o))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
