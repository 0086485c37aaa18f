package controllers

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Marks in the store.
const (
	// markInstall is the identity of the cluster whose manifests the store holds.
	markInstall = "install"
	// markLoaded is "true" once a complete load was seen.
	markLoaded = "loaded"
	// markStore is the name of the store, drawn once. A backup has it too.
	markStore = "store"
)

// nameStore returns the name of the store, and draws one where it has none.
func nameStore(ctx context.Context, lib library.Library) (string, error) {
	name, err := lib.Mark(markStore)
	if err != nil || name != "" {
		return name, err
	}
	b := make([]byte, 8)
	if _, err := rand.Read(b); err != nil {
		return "", fmt.Errorf("draw a name: %w", err)
	}
	name = hex.EncodeToString(b)
	return name, lib.SetMark(ctx, markStore, name)
}

// load brings all objects into the library in one Apply. It does not go through the work queues: ten thousand objects would
// pass there one by one. What cannot be translated, and what is suspended, is left as the store has it; its reconciler says
// why.
func (e *environment) load(ctx context.Context) error {
	var defs []library.Definition
	now := e.Clock()
	for _, k := range kinds() {
		err := e.each(ctx, k, nil, func(o v1alpha1.Object) {
			if !o.GetDeletionTimestamp().IsZero() || o.Suspended() {
				return
			}
			if d, ok := e.translated(ctx, k, o, now); ok {
				defs = append(defs, d)
			}
		})
		if err != nil {
			return err
		}
	}
	if _, err := e.Library.Apply(ctx, defs); err != nil {
		return fmt.Errorf("load %d definitions: %w", len(defs), err)
	}
	return nil
}

// translated translates an object; false where there is nothing to load.
func (e *environment) translated(ctx context.Context, k kind, o v1alpha1.Object, now time.Time) (library.Definition, bool) {
	if k.load != nil {
		return k.load(ctx, e, o, now)
	}
	p := &pass{environment: e, kind: k, object: o}
	err := p.translate(ctx)
	return p.def, err == nil
}

// owners lists the owners of all cached objects.
func (e *environment) owners(ctx context.Context) ([]library.Owner, error) {
	var owners []library.Owner
	for _, k := range kinds() {
		err := e.each(ctx, k, nil, func(o v1alpha1.Object) {
			if o.GetDeletionTimestamp().IsZero() {
				owners = append(owners, translate.Owner(e.install, k.library, o))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return owners, nil
}

// scope limits the sweep to what this cluster declared, in the namespaces that are watched.
func (e *environment) scope() library.Scope {
	scope := library.Scope{Install: e.install}
	for _, k := range kinds() {
		scope.Kinds = append(scope.Kinds, k.library)
	}
	if len(e.Namespaces) > 0 {
		scope.Namespaces = e.Namespaces
	}
	return scope
}

// sweep removes what the store has in its scope and the cluster no longer has, and returns how many definitions it removed.
// It holds what was deleted together with its CRD, and also the rest when the guard of library.Scope says so. AccessTokens
// are guarded separately: a sweep that is held because of many filters never leaves a deleted token accepted.
func (e *environment) sweep(ctx context.Context, keep []library.Owner) (int, error) {
	scope := e.scope()
	missing, err := e.missing(ctx, scope, keep)
	if err != nil {
		return 0, err
	}
	held := map[library.Owner]bool{}
	for _, k := range kinds() {
		// Read after the objects were listed: a CRD that is there now was there all the time that its objects were read.
		c, err := readCRD(ctx, e.direct, k)
		if err != nil {
			return 0, err
		}
		e.noteCRD(k, c)
		for _, o := range missing {
			if o.Kind != k.library {
				continue
			}
			d, err := e.stored(ctx, o)
			if err != nil {
				return 0, err
			}
			if d != nil && c.tookAway(d.Created) {
				held[o] = true
				keep = append(keep, o)
			}
		}
	}
	others := slices.DeleteFunc(slices.Clone(scope.Kinds), func(k library.Kind) bool { return k == library.KindToken })
	removed := 0
	for _, guarded := range [][]library.Kind{{library.KindToken}, others} {
		scope.Kinds = guarded
		n, err := e.Library.Sweep(ctx, scope, keep)
		removed += n
		var much *library.HeldError
		if errors.As(err, &much) {
			e.Logger.Error(much, "sweep is held; run vitrine sweep --confirm if the removal is intended")
			for _, o := range missing {
				if slices.Contains(guarded, o.Kind) {
					held[o] = true
				}
			}
		} else if err != nil {
			return removed, err
		}
	}
	// Of what an earlier sweep of this process held, some may be gone or back.
	var stale []library.Owner
	for _, o := range e.holds.all() {
		if !held[o] {
			stale = append(stale, o)
		}
	}
	e.holds.drop(stale...)
	e.hold(slices.Collect(maps.Keys(held))...)
	return removed, nil
}

// confirmedSweep removes everything that is missing in the cluster now, and returns how many definitions it removed.
func (e *environment) confirmedSweep(ctx context.Context) (int, error) {
	held := e.holds.all()
	// The objects may have changed since the sweep was held: the cache has the current ones.
	keep, err := e.owners(ctx)
	if err != nil {
		return 0, err
	}
	scope := e.scope()
	scope.Confirmed = true
	removed, err := e.Library.Sweep(ctx, scope, keep)
	if err != nil {
		return 0, fmt.Errorf("sweep: %w", err)
	}
	e.holds.drop(held...)
	// The removed definitions may have held what others claim.
	e.queues.add(e.waiters.all()...)
	return removed, nil
}

// missing lists the owners in scope that the store has and keep does not name.
func (e *environment) missing(ctx context.Context, scope library.Scope, keep []library.Owner) ([]library.Owner, error) {
	stored, err := e.Library.Owners(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("list what is stored: %w", err)
	}
	kept := make(map[library.Owner]bool, len(keep))
	for _, o := range keep {
		kept[o] = true
	}
	return slices.DeleteFunc(stored, func(o library.Owner) bool { return kept[o] }), nil
}
