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

// The operator checks each removal against the CRD of its kind:
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=accesstokens.vitrine.dev;activateunits.vitrine.dev;contentfilters.vitrine.dev;properties.vitrine.dev;tags.vitrine.dev;webhooks.vitrine.dev,verbs=get

// identity is a kind of manifests, and the kind of the definitions that they declare. The two have the same name.
type identity struct {
	v1alpha1.Kind
	definition library.Kind
}

func identify(definition library.Kind) identity {
	return identity{v1alpha1.KindNamed(definition.String()), definition}
}

// kind contains what is specific to one kind of manifests. Everything else is in reconciler.
type kind struct {
	identity
	// translate sets def and, for an object with a query, warnings. nil means that the pass calls translate.Object.
	translate func(ctx context.Context, p *pass) error
	// report sets the status fields that only this kind has, except the counts, after the definition was applied. nil means that the kind has
	// no such fields.
	report func(ctx context.Context, p *pass) error
	// load translates an object for the bulk load at start. It returns false if the object has nothing to load yet. nil means that the load
	// uses translate. now is the same for all objects of a load, so that no object takes precedence because it comes first in the list.
	load func(ctx context.Context, s *Set, o v1alpha1.Object, now time.Time) (library.Definition, bool)
	// frozen returns a *verdict.Refusal if the last applied state of a suspended object is not served. nil means that the server always serves
	// the last applied state of this kind.
	frozen func(ctx context.Context, p *pass) error
	// watch adds further watches to the controller of the kind. nil means that the kind needs no further watches.
	watch func(s *Set, mgr manager.Manager, b *builder.Builder) error
	// count updates the counts in the status. nil means that the kind has no counts.
	count counts.Func
}

// kinds returns all kinds of the API with their behavior.
func kinds() []kind {
	return []kind{propertyKind(), tokenKind(), filterKind(), tagKind(), unitKind(), webhookKind()}
}

// each calls visit with a copy of every cached object of a kind.
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

// Stored returns the definition that the library stores for an owner, or nil if there is none.
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

// missing returns status.missing for the listed items that do not exist, or nil if all items exist.
func missing(r library.Result) *v1alpha1.MissingItems {
	if r.MissingItems == 0 {
		return nil
	}
	return &v1alpha1.MissingItems{Count: int64(r.MissingItems), First: r.MissingFirst}
}
