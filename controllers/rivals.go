package controllers

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// secondOperatorReason is the reason of the event, about a Property, that tells of another operator in its namespace.
const secondOperatorReason = "SecondOperator"

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

// heed notes whose the Secret of a token is. A namespace that has become free has all its objects looked at again: their
// statuses are still the other operator's.
func (e *environment) heed(ctx context.Context, token client.Object, store string) error {
	if store == e.store {
		store = ""
	}
	if !e.rivals.note(client.ObjectKeyFromObject(token), store) {
		return nil
	}
	for _, k := range kinds() {
		if k.library == library.KindToken {
			continue // these look for themselves
		}
		err := e.each(ctx, k, client.InNamespace(token.GetNamespace()), func(o object) {
			e.queues.add(translate.Owner(e.install, k.library, o))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
