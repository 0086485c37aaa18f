package index

import (
	"context"
	"slices"
)

// sealMemory seals the segments in memory if the policy requires it or if lost data is not yet in files.
func (x *Index) sealMemory(ctx context.Context) (more bool, err error) {
	s := x.Acquire()
	docs, bytes := s.inMemory()
	s.Release()
	if !x.unsaved.Load() && !x.policy().seal(docs, bytes, x.journaled.Load()) {
		return false, nil
	}
	return true, x.sealAll(ctx)
}

// Seal writes all segments in memory to a file and updates the manifest.
func (x *Index) Seal(ctx context.Context) error {
	return x.seals.with(ctx, func() error { return x.sealAll(ctx) })
}

// sealAll implements Seal. The caller holds the task `seals`. New segments can be merged in memory while sealAll runs.
func (x *Index) sealAll(ctx context.Context) error {
	var memory []*part
	changed := false
	err := x.memory.with(ctx, func() error {
		s := x.Acquire()
		defer s.Release()
		memory = partsOf(s.in(inMemory))
		changed = x.unsaved.Load() || len(memory) > 0 || x.journaled.Load() > 0 ||
			slices.ContainsFunc(s.entries, func(e entry) bool { return e.dead != nil })
		for _, p := range memory {
			p.sealing.Store(true)
		}
		return nil
	})
	if err != nil || !changed {
		return err
	}
	err = x.mergeParts(ctx, memory, toFile, x.o.Store)
	if err != nil {
		for _, p := range memory {
			p.sealing.Store(false)
		}
		x.memory.wake()
	}
	return err
}
