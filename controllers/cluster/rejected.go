package cluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Rejected returns the objects of a property that have the condition Ready=False. It returns false while this process does not follow the
// cluster, and therefore does not know the objects.
func (s *Supervisor) Rejected(ctx context.Context, p library.PropertyID) ([]library.Rejection, bool, error) {
	s.mu.Lock()
	f := s.current
	s.mu.Unlock()
	if f == nil {
		return nil, false, nil
	}
	// List only the namespace of the Property. Callers of the property must not learn the names in other namespaces.
	var found []library.Rejection
	for _, k := range v1alpha1.Kinds() {
		list := k.NewList()
		if err := f.client.List(ctx, list, client.InNamespace(p.Namespace()), client.UnsafeDisableDeepCopy); err != nil {
			return nil, false, fmt.Errorf("list the cached %s objects: %w", k.Name, err)
		}
		_ = meta.EachListItem(list, func(item runtime.Object) error { // the callback never returns an error
			o := item.(v1alpha1.Object)
			if state := v1alpha1.StateOf(o); translate.PropertyID(o) == p && state.Ready == metav1.ConditionFalse {
				found = append(found, library.Rejection{
					Kind: k.Name, Namespace: o.GetNamespace(), Name: o.GetName(), Reason: state.Tells.Reason, Message: state.Tells.Message,
				})
			}
			return nil
		})
	}
	return found, true, nil
}
