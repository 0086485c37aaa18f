package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/counts"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups=vitrine.dev,resources=properties,verbs=get;list;watch
// +kubebuilder:rbac:groups=vitrine.dev,resources=properties/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch

func propertyKind() kind {
	return kind{
		identity:  identify(library.KindProperty),
		translate: translateProperty, report: reportServing, frozen: reportServing, count: countProperty, watch: watchNamespaces,
	}
}

// translateProperty sets the definition of a Property. In each grant for labels, it lists the namespaces that have these labels now.
func translateProperty(ctx context.Context, p *pass) (err error) {
	o := p.object.(*v1alpha1.Property)
	if p.def, p.warnings, err = translate.Property(p.Install, o); err != nil {
		return err
	}
	for i, g := range o.Spec.AllowFrom {
		if g.Namespaces.MatchLabels == nil {
			continue
		}
		if p.Namespaced {
			return &translate.SpecError{
				Reason: v1alpha1.ReasonInvalidSpec, Member: fmt.Sprintf("spec.allowFrom[%d].namespaces.matchLabels", i),
				Err: errors.New("the operator watches only some namespaces and cannot read their labels: set names instead"),
			}
		}
		var list corev1.NamespaceList
		if err := p.client.List(ctx, &list, client.MatchingLabels(g.Namespaces.MatchLabels)); err != nil {
			return fmt.Errorf("list the namespaces with the labels of a grant: %w", err)
		}
		grant := &p.def.PropertySpec.Grants[i]
		for _, ns := range list.Items {
			grant.Namespaces = append(grant.Namespaces, ns.Name)
		}
		slices.Sort(grant.Namespaces)
	}
	return nil
}

// watchNamespaces adds the watch that requeues the Properties with grants for labels when a namespace appears, goes, or changes its labels.
func watchNamespaces(s *Set, _ manager.Manager, b *builder.Builder) error {
	if !s.Namespaced {
		b.Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(s.labelled), builder.WithPredicates(predicate.LabelChangedPredicate{}))
	}
	return nil
}

// labelled returns the Properties with grants for labels.
func (s *Set) labelled(ctx context.Context, _ client.Object) (requests []reconcile.Request) {
	err := s.each(ctx, propertyKind(), nil, func(o v1alpha1.Object) {
		byLabel := func(g v1alpha1.PropertyGrant) bool { return g.Namespaces.MatchLabels != nil }
		if slices.ContainsFunc(o.(*v1alpha1.Property).Spec.AllowFrom, byLabel) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
	})
	if err != nil {
		s.Logger.Error(err, "could not find the Properties with grants for labels")
	}
	return requests
}

// reportServing returns a refusal if the library cannot serve the Property, whatever the cause. A Property that was served before stays
// Ready for PropertyGrace.
func reportServing(ctx context.Context, p *pass) error {
	id := translate.PropertyID(p.object)
	trouble := p.Library.State(ctx).Serving(id)
	if trouble != nil && verdict.Ready(p.object).Status == metav1.ConditionTrue {
		if end := p.serving.interrupted(id, p.Clock()).Add(p.PropertyGrace); p.Clock().Before(end) {
			p.interrupted = true
			p.wake(end)
			return nil
		}
	}
	p.serving.report(id, trouble)
	if trouble != nil {
		return verdict.NotServed(*trouble)
	}
	return nil
}

func countProperty(ctx context.Context, l *counts.Look, o v1alpha1.Object) (bool, error) {
	n, err := l.Property(ctx, translate.PropertyID(o))
	if err != nil {
		return false, err
	}
	return counts.Set(&o.(*v1alpha1.Property).Status.Items, n), nil
}
