package controllers

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups=vitrine.dev,resources=tags,verbs=get;list;watch
// +kubebuilder:rbac:groups=vitrine.dev,resources=tags/status,verbs=patch

func tagKind() kind {
	return kind{
		library: library.KindTag,
		new:     func() object { return &v1alpha1.Tag{} },
		list:    func() client.ObjectList { return &v1alpha1.TagList{} },
		steps:   []step{translateTag, apply, reportTag},
		count:   countTag,
	}
}

func translateTag(_ context.Context, r *round) (err error) {
	o := r.object.(*v1alpha1.Tag)
	r.def, r.warnings, err = translate.Tag(r.install, o)
	return err
}

func reportTag(ctx context.Context, r *round) error {
	o := r.object.(*v1alpha1.Tag)
	o.Status.Missing = missing(r.result)
	_, err := countTag(ctx, r.environment, o, &tally{})
	return err
}

func countTag(ctx context.Context, e *environment, o object, moves *tally) (bool, error) {
	t := o.(*v1alpha1.Tag)
	n, lost, err := e.countRule(ctx, translate.PropertyID(o), t.Spec.Items, library.KindTag, t.Spec.Selector, moves)
	if err != nil {
		return false, err
	}
	changed := setMissing(&t.Status.Missing, lost)
	return setCount(&t.Status.Applied, n) || changed, nil
}
