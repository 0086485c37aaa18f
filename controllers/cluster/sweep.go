package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

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

// scope limits the sweep to what this cluster declared, in the namespaces that are watched.
func (f *follower) scope() library.Scope {
	scope := library.Scope{Install: f.set.Install, Kinds: kinds()}
	if len(f.Namespaces) > 0 {
		scope.Namespaces = f.Namespaces
	}
	return scope
}

// sweep removes what the store has in its scope and the cluster no longer has, and returns how many definitions it removed.
// It holds what was deleted together with its CRD, and also the rest when the guard of library.Scope says so. AccessTokens
// are guarded separately: a sweep that is held because of many filters never leaves a deleted token accepted.
func (f *follower) sweep(ctx context.Context, keep []library.Owner) (int, error) {
	scope := f.scope()
	missing, err := f.missing(ctx, scope, keep)
	if err != nil {
		return 0, err
	}
	held := map[library.Owner]bool{}
	for _, k := range kinds() {
		// Read after the objects were listed: a CRD that is there now was there all the time that its objects were read.
		c, err := readCRD(ctx, f.direct, k)
		if err != nil {
			return 0, err
		}
		f.removals.noteCRD(k, c)
		for _, o := range missing {
			if o.Kind != k {
				continue
			}
			d, err := f.set.Stored(ctx, o)
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
		n, err := f.Library.Sweep(ctx, scope, keep)
		removed += n
		var much *library.HeldError
		if errors.As(err, &much) {
			f.Logger.Error(much, "sweep is held; run vitrine sweep --confirm if the removal is intended")
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
	for _, o := range f.removals.holds.all() {
		if !held[o] {
			stale = append(stale, o)
		}
	}
	f.removals.holds.drop(stale...)
	f.removals.hold(slices.Collect(maps.Keys(held))...)
	return removed, nil
}

// confirmedSweep removes everything that is missing in the cluster now, and returns how many definitions it removed.
func (f *follower) confirmedSweep(ctx context.Context) (int, error) {
	held := f.removals.holds.all()
	// The objects may have changed since the sweep was held: the cache has the current ones.
	keep, err := f.set.Owners(ctx)
	if err != nil {
		return 0, err
	}
	scope := f.scope()
	scope.Confirmed = true
	removed, err := f.Library.Sweep(ctx, scope, keep)
	if err != nil {
		return 0, fmt.Errorf("sweep: %w", err)
	}
	f.removals.holds.drop(held...)
	// The removed definitions may have held what others claim.
	f.set.RequeueWaiting()
	return removed, nil
}

// missing lists the owners in scope that the store has and keep does not name.
func (f *follower) missing(ctx context.Context, scope library.Scope, keep []library.Owner) ([]library.Owner, error) {
	stored, err := f.Library.Owners(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("list what is stored: %w", err)
	}
	kept := make(map[library.Owner]bool, len(keep))
	for _, o := range keep {
		kept[o] = true
	}
	return slices.DeleteFunc(stored, func(o library.Owner) bool { return kept[o] }), nil
}
