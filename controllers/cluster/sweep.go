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

// Names of marks in the store.
const (
	// markInstall is the identity of the cluster whose manifests the store holds.
	markInstall = "install"
	// markLease is the Lease of the replicas that use the library.
	markLease = "lease"
	// markLoaded is "true" after a complete load.
	markLoaded = "loaded"
	// markStore is the random name of the store. A backup contains it.
	markStore = "store"
)

// nameStore returns the name of the store. If the store has none, nameStore generates and records one.
func nameStore(ctx context.Context, marks library.Marks) (string, error) {
	name, err := marks.Mark(markStore)
	if err != nil || name != "" {
		return name, err
	}
	b := make([]byte, 8)
	rand.Read(b) // rand.Read never fails
	name = hex.EncodeToString(b)
	return name, marks.SetMark(ctx, markStore, name)
}

// scope limits the sweep to the definitions that this cluster declared in the watched namespaces.
func (f *follower) scope() library.Scope {
	scope := library.Scope{Install: f.set.Install, Kinds: library.Kinds()}
	if len(f.Namespaces) > 0 {
		scope.Namespaces = f.Namespaces
	}
	return scope
}

// sweep removes the definitions in its scope whose objects are no longer in the cluster, and returns the number of removed definitions. If
// an object was deleted together with its CRD, sweep holds the removal. It also holds all other removals if the guard of library.Scope
// refuses them. The guard counts AccessTokens separately, so that a deleted token does not stay valid because many filters are missing.
func (f *follower) sweep(ctx context.Context, keep []library.Owner) (int, error) {
	scope := f.scope()
	missing, err := f.missing(ctx, scope, keep)
	if err != nil {
		return 0, err
	}
	held := map[library.Owner]bool{}
	for _, k := range library.Kinds() {
		// Read the CRD after the objects were listed. A deletion of the CRD before the list is then not missed.
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
			f.Logger.Error(much, "the removal of these definitions waits for confirmation: run vitrine sweep --confirm if it is intended")
			for _, o := range missing {
				if slices.Contains(guarded, o.Kind) {
					held[o] = true
				}
			}
		} else if err != nil {
			return removed, err
		}
	}
	// Drop earlier holds whose definitions have been removed or whose objects have returned.
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

// confirmedSweep removes all definitions whose objects are missing in the cluster now, and returns their number.
func (f *follower) confirmedSweep(ctx context.Context) (int, error) {
	held := f.removals.holds.all()
	// Use the current objects in the cache, because they may have changed since the sweep was held.
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
	// The removed definitions may have held claims for which other objects wait.
	f.set.RequeueWaiting()
	return removed, nil
}

// missing returns the owners in scope that are in the store but not in keep.
func (f *follower) missing(ctx context.Context, scope library.Scope, keep []library.Owner) ([]library.Owner, error) {
	stored, err := f.Library.Owners(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("list the stored definitions: %w", err)
	}
	kept := make(map[library.Owner]bool, len(keep))
	for _, o := range keep {
		kept[o] = true
	}
	return slices.DeleteFunc(stored, func(o library.Owner) bool { return kept[o] }), nil
}
