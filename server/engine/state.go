package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/vitrine-dev/vitrine/server/library"
)

// State describes the library. See library.Library.
func (l *Library) State(ctx context.Context) library.State {
	s := l.store.State(ctx)
	for _, pending := range []bool{true, false} {
		failed := l.follower.failures(pending)
		if len(failed) == 0 || s.Problem != "" {
			continue
		}
		id := slices.Min(slices.Collect(maps.Keys(failed)))
		s.Ready, s.Problem = s.Ready && len(l.follower.all()) > 0, unindexed(id, failed[id]).Error()
		if len(failed) > 1 && !pending {
			s.Problem += fmt.Sprintf("; the log names the other indexes that cannot be opened (%d)", len(failed)-1)
		}
	}
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
		if stats.Problem != nil && s.Problem == "" {
			s.Problem = fmt.Sprintf("the index of property %s cannot be written: %v", p.id, stats.Problem)
		}
	}
	if frozen, err := l.store.Frozen(ctx); err == nil && frozen != "" && s.Problem == "" {
		s.Problem = frozen.Err().Error()
	}
	return s
}
