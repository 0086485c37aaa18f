package controllers

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

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
		err := e.each(ctx, k, nil, func(o object) {
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
func (e *environment) translated(ctx context.Context, k kind, o object, now time.Time) (library.Definition, bool) {
	if k.load != nil {
		return k.load(ctx, e, o, now)
	}
	r := &round{environment: e, kind: k, object: o}
	err := k.steps[0](ctx, r)
	return r.def, err == nil
}

// owners lists the owners of all cached objects.
func (e *environment) owners(ctx context.Context) ([]library.Owner, error) {
	var owners []library.Owner
	for _, k := range kinds() {
		err := e.each(ctx, k, nil, func(o object) {
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

// sweep removes what the store knows of this cluster, in the namespaces that are watched, and the cluster knows no more.
func (e *environment) sweep(ctx context.Context, keep []library.Owner, confirmed bool) (int, error) {
	scope := library.Scope{Install: e.install, Confirmed: confirmed}
	for _, k := range kinds() {
		scope.Kinds = append(scope.Kinds, k.library)
	}
	if len(e.Namespaces) > 0 {
		scope.Namespaces = e.Namespaces
	}
	return e.Library.Sweep(ctx, scope, keep)
}
