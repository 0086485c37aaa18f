package controllers

import (
	"context"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups=vitrine.dev,resources=tags,verbs=get;list;watch
// +kubebuilder:rbac:groups=vitrine.dev,resources=tags/status,verbs=patch

func tagKind() kind {
	return kind{
		Kind:    v1alpha1.KindNamed(v1alpha1.TagKind),
		library: library.KindTag,
		report:  reportTag,
		count:   countTag,
	}
}

func reportTag(ctx context.Context, p *pass) error {
	o := p.object.(*v1alpha1.Tag)
	o.Status.Missing = missing(p.result)
	_, err := countTag(ctx, p.environment, o, &tally{})
	return err
}

func countTag(ctx context.Context, e *environment, o v1alpha1.Object, moves *tally) (bool, error) {
	t := o.(*v1alpha1.Tag)
	n, lost, err := e.countRule(ctx, translate.PropertyID(o), t.Spec.Items, library.KindTag, t.Spec.Selector, moves)
	if err != nil {
		return false, err
	}
	changed := setMissing(&t.Status.Missing, lost)
	return setCount(&t.Status.Applied, n) || changed, nil
}
