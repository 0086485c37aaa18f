package controllers

import (
	"context"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups=vitrine.dev,resources=activateunits,verbs=get;list;watch
// +kubebuilder:rbac:groups=vitrine.dev,resources=activateunits/status,verbs=patch

func unitKind() kind {
	return kind{
		library: library.KindUnit,
		new:     func() object { return &v1alpha1.ActivateUnit{} },
		list:    func() client.ObjectList { return &v1alpha1.ActivateUnitList{} },
		steps:   []step{translateUnit, apply, reportUnit},
		count:   countUnit,
	}
}

func translateUnit(ctx context.Context, r *round) error {
	o := r.object.(*v1alpha1.ActivateUnit)
	var err error
	if r.def, r.warnings, err = translate.ActivateUnit(r.install, o); err != nil {
		return err
	}
	stored, err := r.stored(ctx, r.def.Owner)
	if err != nil {
		return err
	}
	r.def = translate.Modified(r.def, stored, r.Clock())
	return nil
}

func reportUnit(ctx context.Context, r *round) error {
	o := r.object.(*v1alpha1.ActivateUnit)
	o.Status.ID = r.def.Unit.Unit.ID
	o.Status.URL = r.base(r.def.Property) + "/v1/activate_units/" + strconv.FormatInt(o.Status.ID, 10)
	o.Status.Missing = missing(r.result)
	_, err := countUnit(ctx, r.environment, o, &tally{})
	return err
}

func countUnit(ctx context.Context, e *environment, o object, moves *tally) (bool, error) {
	u := o.(*v1alpha1.ActivateUnit)
	n, lost, err := e.countRule(ctx, translate.PropertyID(o), u.Spec.Items, library.KindUnit, u.Spec.Selector, moves)
	if err != nil {
		return false, err
	}
	changed := setMissing(&u.Status.Missing, lost)
	return setCount(&u.Status.Attached, n) || changed, nil
}
