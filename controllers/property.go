package controllers

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups=vitrine.dev,resources=properties,verbs=get;list;watch
// +kubebuilder:rbac:groups=vitrine.dev,resources=properties/status,verbs=patch

func propertyKind() kind {
	return kind{
		library: library.KindProperty,
		new:     func() object { return &v1alpha1.Property{} },
		list:    func() client.ObjectList { return &v1alpha1.PropertyList{} },
		steps:   []step{translateProperty, apply, reportProperty},
		count:   countProperty,
	}
}

func translateProperty(_ context.Context, r *round) (err error) {
	r.def, err = translate.Property(r.install, r.object.(*v1alpha1.Property))
	return err
}

func reportProperty(ctx context.Context, r *round) error {
	_, err := countProperty(ctx, r.environment, r.object, &tally{})
	return err
}

func countProperty(ctx context.Context, e *environment, o object, _ *tally) (bool, error) {
	items := e.Library.State(ctx).PropertyItems[translate.PropertyID(o)]
	return setCount(&o.(*v1alpha1.Property).Status.Items, items), nil
}
