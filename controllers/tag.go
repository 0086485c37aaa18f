package controllers

import (
	"context"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/counts"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups=vitrine.dev,resources=tags,verbs=get;list;watch
// +kubebuilder:rbac:groups=vitrine.dev,resources=tags/status,verbs=patch

func tagKind() kind {
	return kind{
		identity: identify(library.KindTag),
		report:   reportTag, count: countTag,
	}
}

func reportTag(_ context.Context, p *pass) error {
	p.object.(*v1alpha1.Tag).Status.Missing = missing(p.result)
	return nil
}

func countTag(ctx context.Context, l *counts.Look, o v1alpha1.Object) (bool, error) {
	t := o.(*v1alpha1.Tag)
	n, lost, err := l.Rule(ctx, translate.PropertyID(o), t.Spec.Items, library.KindTag, t.Spec.Selector)
	if err != nil {
		return false, err
	}
	changed := counts.SetMissing(&t.Status.Missing, lost)
	return counts.Set(&t.Status.Applied, n) || changed, nil
}
