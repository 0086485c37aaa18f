package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Load applies the definitions of all objects in one call or, if that fails, in one call for each property. It bypasses the work queues,
// because they would process ten thousand objects one by one. If an object is suspended or cannot be translated, the store keeps its
// previous definition, and its reconciler reports why.
func (s *Set) Load(ctx context.Context) error {
	var defs []library.Definition
	now := s.Clock()
	for _, k := range kinds() {
		err := s.each(ctx, k, nil, func(o v1alpha1.Object) {
			if !o.GetDeletionTimestamp().IsZero() || o.Suspended() {
				return
			}
			if d, ok := s.translated(ctx, k, o, now); ok {
				defs = append(defs, d)
			}
		})
		if err != nil {
			return err
		}
	}
	if _, err := s.Library.Apply(ctx, defs); err != nil {
		return s.loadSeparately(ctx, defs, fmt.Errorf("load %d definitions: %w", len(defs), err))
	}
	return nil
}

// loadSeparately applies the definitions of one property after the other, after the load of all definitions has failed with the error
// failed. The library may be unable to store the definitions of one property, for example because it cannot create the index of this
// property. The reconcilers retry and report these definitions. If the library can store the definitions of no property, loadSeparately
// returns failed.
func (s *Set) loadSeparately(ctx context.Context, defs []library.Definition, failed error) error {
	byProperty := map[library.PropertyID][]library.Definition{}
	for _, d := range defs {
		byProperty[d.Property] = append(byProperty[d.Property], d)
	}
	properties := slices.Sorted(maps.Keys(byProperty))
	errs := map[library.PropertyID]error{}
	for _, p := range properties {
		if _, err := s.Library.Apply(ctx, byProperty[p]); err != nil {
			errs[p] = err
		}
		if ctx.Err() != nil {
			return failed
		}
	}
	if len(errs) == len(properties) {
		return failed
	}
	for _, p := range properties {
		if err := errs[p]; err != nil {
			s.Logger.Error(err, "could not load the definitions of a property, will retry", "property", string(p))
		}
	}
	return nil
}

// translated translates an object. It returns false if the object has nothing to load.
func (s *Set) translated(ctx context.Context, k kind, o v1alpha1.Object, now time.Time) (library.Definition, bool) {
	if k.load != nil {
		return k.load(ctx, s, o, now)
	}
	p := &pass{Set: s, kind: k, object: o}
	err := p.translate(ctx)
	return p.def, err == nil
}

// Owners returns an owner for each cached object that is not being deleted.
func (s *Set) Owners(ctx context.Context) ([]library.Owner, error) {
	var owners []library.Owner
	for _, k := range kinds() {
		err := s.each(ctx, k, nil, func(o v1alpha1.Object) {
			if o.GetDeletionTimestamp().IsZero() {
				owners = append(owners, translate.Owner(s.Install, k.definition, o))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return owners, nil
}
