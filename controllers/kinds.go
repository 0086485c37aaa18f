package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/counts"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Removals are checked against the CRD of each kind:
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=accesstokens.vitrine.dev;activateunits.vitrine.dev;contentfilters.vitrine.dev;properties.vitrine.dev;tags.vitrine.dev,verbs=get

// Kind is one of the kinds of manifests, with the kind of definition that it brings.
type Kind struct {
	v1alpha1.Kind
	// Definition is what an object of the kind becomes in the library.
	Definition library.Kind
}

// kind is what one of the kinds adds to the shape that all of them share.
type kind struct {
	Kind
	// translate sets def, and warnings where the object has a query; nil: translate.Object does.
	translate func(ctx context.Context, p *pass) error
	// report fills in the status of an object whose definition is applied, but for its counts; nil where there is nothing else.
	report func(ctx context.Context, p *pass) error
	// load translates an object for the bulk load at start; false where there is nothing to load yet. nil: translate does. now is the
	// same for all objects of a load, so that the order of the list gives none of them precedence.
	load func(ctx context.Context, s *Set, o v1alpha1.Object, now time.Time) (library.Definition, bool)
	// frozen checks a suspended object for what ends by time alone; nil where nothing of the kind does.
	frozen func(ctx context.Context, p *pass) error
	// watch adds what else the kind's controller watches; nil for nothing.
	watch func(s *Set, mgr manager.Manager, b *builder.Builder) error
	// count updates the counts in status; nil where the kind has none.
	count counts.Func
}

// kinds lists what the kinds of the API's registry do here.
func kinds() []kind {
	return []kind{propertyKind(), tokenKind(), filterKind(), tagKind(), unitKind()}
}

// Kinds lists the kinds of manifests, with the kind of definition that each brings.
func Kinds() []Kind {
	var all []Kind
	for _, k := range kinds() {
		all = append(all, k.Kind)
	}
	return all
}

// each visits the cached objects of a kind. They are copies.
func (s *Set) each(ctx context.Context, k kind, in client.ListOption, visit func(v1alpha1.Object)) error {
	list := k.NewList()
	var options []client.ListOption
	if in != nil {
		options = append(options, in)
	}
	if err := s.client.List(ctx, list, options...); err != nil {
		return fmt.Errorf("list the cached %s objects: %w", k.Name, err)
	}
	return meta.EachListItem(list, func(o runtime.Object) error {
		visit(o.(v1alpha1.Object))
		return nil
	})
}

// Stored returns what the library holds of an owner, nil when it holds nothing.
func (s *Set) Stored(ctx context.Context, owner library.Owner) (*library.Definition, error) {
	d, err := s.Library.Definition(ctx, owner)
	if errors.Is(err, library.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up the stored definition: %w", err)
	}
	return &d, nil
}

// missing is what status tells of listed items that are not there; nil when all are.
func missing(r library.Result) *v1alpha1.MissingItems {
	if r.MissingItems == 0 {
		return nil
	}
	return &v1alpha1.MissingItems{Count: int64(r.MissingItems), First: r.MissingFirst}
}
