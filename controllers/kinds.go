package controllers

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

// kinds lists what the kinds of the API's registry do here.
func kinds() []kind {
	return []kind{propertyKind(), tokenKind(), filterKind(), tagKind(), unitKind()}
}

// each visits the cached objects of a kind. They are copies.
func (e *environment) each(ctx context.Context, k kind, in client.ListOption, visit func(v1alpha1.Object)) error {
	list := k.NewList()
	var options []client.ListOption
	if in != nil {
		options = append(options, in)
	}
	if err := e.client.List(ctx, list, options...); err != nil {
		return fmt.Errorf("list the cached %s objects: %w", k.library, err)
	}
	return meta.EachListItem(list, func(o runtime.Object) error {
		visit(o.(v1alpha1.Object))
		return nil
	})
}

// stored returns what the library holds of an owner, nil when it holds nothing.
func (e *environment) stored(ctx context.Context, owner library.Owner) (*library.Definition, error) {
	d, err := e.Library.Definition(ctx, owner)
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
