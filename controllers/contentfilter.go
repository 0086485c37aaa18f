package controllers

import (
	"context"
	"fmt"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/counts"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups=vitrine.dev,resources=contentfilters,verbs=get;list;watch
// +kubebuilder:rbac:groups=vitrine.dev,resources=contentfilters/status,verbs=patch

// readAccessReason is the reason of the event which reports that READ-ONLY tokens can now read a ContentFilter.
const readAccessReason = "ReadAccessWidened"

func filterKind() kind {
	return kind{
		identity: identify(library.KindFilter),
		report:   reportFilter, count: countFilter,
	}
}

func reportFilter(_ context.Context, p *pass) error {
	o := p.object.(*v1alpha1.ContentFilter)
	record, err := p.Library.Filter(p.def.Property, library.FilterRef{ID: p.def.Filter.ID})
	if err != nil {
		return fmt.Errorf("read the filter back: %w", err)
	}
	o.Status.ID, o.Status.UUID = record.ID, record.UUID
	o.Status.URL = p.base(p.def.Property) + "/v2/content/filters/" + record.UUID
	before := o.Status.ReadAccess
	o.Status.ReadAccess = v1alpha1.ReadAccessReadWrite
	if record.Public {
		o.Status.ReadAccess = v1alpha1.ReadAccessReadOnly
	}
	if before == v1alpha1.ReadAccessReadWrite && record.Public {
		p.announcement = announcement{readAccessReason, "READ-ONLY tokens can list the items from now on: spec.readAccess became ReadOnly"}
	}
	return nil
}

func countFilter(ctx context.Context, l *counts.Look, o v1alpha1.Object) (bool, error) {
	f := o.(*v1alpha1.ContentFilter)
	if f.Status.ID == 0 {
		return false, nil
	}
	n, err := l.Filter(ctx, translate.PropertyID(o), f.Status.ID)
	if err != nil {
		return false, err
	}
	return counts.Set(&f.Status.MatchedItems, n), nil
}
