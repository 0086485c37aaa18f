package controllers

import (
	"context"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/counts"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups=vitrine.dev,resources=properties,verbs=get;list;watch
// +kubebuilder:rbac:groups=vitrine.dev,resources=properties/status,verbs=patch

func propertyKind() kind {
	return kind{
		Kind:  Kind{v1alpha1.KindNamed(v1alpha1.PropertyKind), library.KindProperty},
		count: countProperty,
	}
}

func countProperty(ctx context.Context, l *counts.Look, o v1alpha1.Object) (bool, error) {
	n, err := l.Property(ctx, translate.PropertyID(o))
	if err != nil {
		return false, err
	}
	return counts.Set(&o.(*v1alpha1.Property).Status.Items, n), nil
}
