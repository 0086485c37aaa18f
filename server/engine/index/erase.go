package index

import (
	"context"
	"fmt"
	"slices"
)

// Erase rewrites all segments that contain bytes of deleted items or submissions, so that no segment contains them.
func (x *Index) Erase(ctx context.Context) error {
	if err := x.eraseAll(ctx); err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	return nil
}

func (x *Index) eraseAll(ctx context.Context) error {
	err := x.seals.with(ctx, func() error {
		return x.memory.with(ctx, func() error {
			if parts := x.toErase(inMemory); len(parts) > 0 {
				return x.mergeParts(ctx, parts, inMemory, x.o.Store)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	err = x.files.with(ctx, func() error {
		for _, p := range x.toErase(toFile) {
			if err := x.mergeOrRestore(ctx, []*part{p}); err != nil {
				return err
			}
			p.unlink()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return x.leftovers.remove(x)
}

// toErase lists the parts that Erase has to rewrite.
func (x *Index) toErase(where target) []*part {
	s := x.Acquire()
	defer s.Release()
	return partsOf(slices.DeleteFunc(s.in(where), func(e entry) bool { return !e.erase }))
}
