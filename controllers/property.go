package controllers

import (
	"context"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups=vitrine.dev,resources=properties,verbs=get;list;watch
// +kubebuilder:rbac:groups=vitrine.dev,resources=properties/status,verbs=patch

func propertyKind() kind {
	return kind{
		Kind:    v1alpha1.KindNamed(v1alpha1.PropertyKind),
		library: library.KindProperty,
		report:  reportProperty,
		count:   countProperty,
	}
}

func reportProperty(ctx context.Context, p *pass) error {
	_, err := countProperty(ctx, p.environment, p.object, &tally{})
	return err
}

func countProperty(ctx context.Context, e *environment, o v1alpha1.Object, _ *tally) (bool, error) {
	items := e.Library.State(ctx).PropertyItems[translate.PropertyID(o)]
	return setCount(&o.(*v1alpha1.Property).Status.Items, items), nil
}
