package controllers

import (
	"context"
	"strconv"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/counts"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups=vitrine.dev,resources=activateunits,verbs=get;list;watch
// +kubebuilder:rbac:groups=vitrine.dev,resources=activateunits/status,verbs=patch

func unitKind() kind {
	return kind{
		identity:  identify(library.KindUnit),
		translate: translateUnit, report: reportUnit, count: countUnit,
	}
}

func translateUnit(ctx context.Context, p *pass) error {
	o := p.object.(*v1alpha1.ActivateUnit)
	var err error
	if p.def, p.warnings, err = translate.ActivateUnit(p.Install, o); err != nil {
		return err
	}
	stored, err := p.Stored(ctx, p.def.Owner)
	if err != nil {
		return err
	}
	p.def = translate.Modified(p.def, stored, p.Clock())
	return nil
}

func reportUnit(_ context.Context, p *pass) error {
	o := p.object.(*v1alpha1.ActivateUnit)
	o.Status.ID = p.def.Unit.Unit.ID
	o.Status.URL = p.base(p.def.Property) + "/v1/activate_units/" + strconv.FormatInt(o.Status.ID, 10)
	o.Status.Missing = missing(p.result)
	return nil
}

func countUnit(ctx context.Context, l *counts.Look, o v1alpha1.Object) (bool, error) {
	u := o.(*v1alpha1.ActivateUnit)
	n, lost, err := l.Rule(ctx, translate.PropertyID(o), u.Spec.Items, library.KindUnit, u.Spec.Selector)
	if err != nil {
		return false, err
	}
	changed := counts.SetMissing(&u.Status.Missing, lost)
	return counts.Set(&u.Status.Attached, n) || changed, nil
}
