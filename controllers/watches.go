package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/tokens"
	"github.com/vitrine-dev/vitrine/controllers/translate"
)

// propertyIndex is the index of the objects of a kind by the ids of their properties.
const propertyIndex = "property"

func indexProperty(mgr manager.Manager, k kind) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), k.New(), propertyIndex, func(o client.Object) []string {
		return []string{string(translate.PropertyID(o.(v1alpha1.Object)))}
	})
	if err != nil {
		return fmt.Errorf("index the %s objects by their properties: %w", k.Name, err)
	}
	return nil
}

// filtersIndex is the index of AccessTokens by the namespace/name of the ContentFilters that they name.
const filtersIndex = "spec.filters"

// controllerIndex is the index of Secrets by the UIDs of their controllers.
const controllerIndex = "metadata.controller"

// controllerOf returns the value of controllerIndex for a Secret.
func controllerOf(o client.Object) []string {
	if c := metav1.GetControllerOf(o); c != nil {
		return []string{string(c.UID)}
	}
	return nil
}

// watchSecrets adds the watches that requeue an AccessToken when its Secret changes, or when the UUID of a filter that it names may change.
func watchSecrets(s *Set, mgr manager.Manager, b *builder.Builder) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.AccessToken{}, filtersIndex, func(o client.Object) []string {
		t := o.(*v1alpha1.AccessToken)
		var keys []string
		for _, name := range t.Spec.Filters {
			keys = append(keys, t.PropertyNamespace()+"/"+name)
		}
		return keys
	})
	if err != nil {
		return fmt.Errorf("index AccessTokens by their filters: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Secret{}, controllerIndex, controllerOf); err != nil {
		return fmt.Errorf("index Secrets by their controllers: %w", err)
	}
	b.Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(tokenOfSecret)).
		Watches(&v1alpha1.ContentFilter{}, handler.EnqueueRequestsFromMapFunc(s.tokensOfFilter), builder.WithPredicates(adoption()))
	return nil
}

// tokenOfSecret returns the AccessToken to which a labeled Secret belongs: the controller of the Secret or, if there is none, the
// AccessToken that the label names.
func tokenOfSecret(_ context.Context, s client.Object) []reconcile.Request {
	name := s.GetLabels()[tokens.Label]
	if c := metav1.GetControllerOf(s); c != nil && c.Kind == v1alpha1.AccessTokenKind {
		name = c.Name
	}
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: s.GetNamespace(), Name: name}}}
}

// tokensOfFilter returns the AccessTokens that name a ContentFilter.
func (s *Set) tokensOfFilter(ctx context.Context, f client.Object) []reconcile.Request {
	list := &v1alpha1.AccessTokenList{}
	err := s.client.List(ctx, list, client.MatchingFieldsSelector{
		Selector: fields.OneTermEqualSelector(filtersIndex, f.GetNamespace()+"/"+f.GetName()),
	})
	if err != nil {
		s.Logger.Error(err, "could not find the tokens of a filter", "filter", client.ObjectKeyFromObject(f))
		return nil
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return requests
}

// adoption selects the events after which a ContentFilter may have another UUID: the creation and the deletion of a manifest with
// spec.adopt, and every change of status.uuid.
func adoption() predicate.Predicate {
	adopts := func(o client.Object) bool { return o.(*v1alpha1.ContentFilter).Spec.Adopt != nil }
	uuid := func(o client.Object) string { return o.(*v1alpha1.ContentFilter).Status.UUID }
	return predicate.Funcs{
		CreateFunc:  func(ev event.CreateEvent) bool { return adopts(ev.Object) },
		DeleteFunc:  func(ev event.DeleteEvent) bool { return adopts(ev.Object) },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  func(ev event.UpdateEvent) bool { return uuid(ev.ObjectOld) != uuid(ev.ObjectNew) },
	}
}
