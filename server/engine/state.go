package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vitrine-dev/vitrine/server/library"
)

// State describes the library. See library.Library.
func (l *Library) State(ctx context.Context) library.State {
	s := l.store.State(ctx)
	s.Troubles = l.follower.troubles()
	s.Sizes.Store = l.store.Memory()
	s.Sizes.Caches = l.follower.cache.Stats().Bytes
	for _, p := range l.follower.all() {
		x := p.segments()
		if x == nil {
			continue
		}
		snapshot := x.Acquire()
		for _, part := range snapshot.Parts() {
			s.Sizes.Caches += l.follower.cache.MemoBytes(part.Segment)
		}
		snapshot.Release()
		stats := x.Stats()
		s.Sizes.Heap += stats.MemoryBytes + stats.DerivedBytes
		s.Sizes.MappedIndex += stats.MappedIndex
		s.Sizes.MappedItems += stats.MappedItems
		if stats.Problem != nil {
			s.Troubles[p.id] = library.Trouble{Problem: fmt.Sprintf("the index cannot be written: %v", stats.Problem)}
		}
	}
	if len(s.Troubles) > 0 && s.Ready && s.Problem == "" && len(l.follower.all()) == 0 {
		first := slices.Min(slices.Collect(maps.Keys(s.Troubles)))
		s.Ready, s.Problem = false, fmt.Sprintf("no property is served; property %s: %s", first, s.Troubles[first])
	}
	if frozen, err := l.store.Frozen(ctx); err == nil && frozen != "" && s.Problem == "" {
		s.Problem = frozen.Err().Error()
	}
	return s
}

// troubles returns the properties whose index is not open.
func (f *follower) troubles() map[library.PropertyID]library.Trouble {
	f.mu.RLock()
	defer f.mu.RUnlock()
	troubles := make(map[library.PropertyID]library.Trouble, len(f.failed))
	for id, cause := range f.failed {
		if o, pending := errors.AsType[opening](cause); pending {
			troubles[id] = library.Trouble{Unserved: f.properties[id] == nil, Passing: true, Problem: "the index is being opened or rebuilt", Progress: o.progress()}
		} else {
			troubles[id] = library.Trouble{Unserved: f.properties[id] == nil, Problem: fmt.Sprintf("the index cannot be opened: %v", cause)}
		}
	}
	return troubles
}
