package controllers

import (
	"context"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/counts"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups=vitrine.dev,resources=properties,verbs=get;list;watch
// +kubebuilder:rbac:groups=vitrine.dev,resources=properties/status,verbs=patch

func propertyKind() kind {
	return kind{
		Kind:   Kind{v1alpha1.KindNamed(v1alpha1.PropertyKind), library.KindProperty},
		report: reportServing, frozen: reportServing, count: countProperty,
	}
}

// reportServing returns a refusal if the library cannot serve the Property, whatever the cause.
func reportServing(ctx context.Context, p *pass) error {
	trouble := p.Library.State(ctx).Serving(translate.PropertyID(p.object))
	p.serving.report(translate.PropertyID(p.object), trouble)
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
