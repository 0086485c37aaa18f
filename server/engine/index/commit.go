package index

import (
	"errors"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/store"
)

// coverage is what a swap puts into files of what was in memory.
type coverage struct {
	// through is the batch up to which everything is in files, if nothing is left in memory from before.
	through uint64
	// journaled is about how many keys of the journal go with it.
	journaled int64
}

// errUncertain is returned when a manifest may or may not have been written: the files that it may name must stay. The store is
// opened again after that, and the index with it.
var errUncertain = errors.New("it is not known whether the manifest was written")

// commit makes a swap durable and visible.
func (x *Index) commit(through *store.Store, to target, covered coverage, swap func() *Snapshot) error {
	if to == inMemory {
		return through.Hold(func() error {
			if x.ended.Load() {
				return errEnded
			}
			x.publish(swap())
			return nil
		})
	}
	var next *Snapshot
	written := false
	err := through.CommitIndex(func(keys *store.IndexBatch) (func(), error) {
		if x.ended.Load() {
			return nil, errEnded
		}
		next = swap()
		upTo := covered.through
		oldest, any := next.oldestInMemory()
		if any {
			upTo = min(upTo, oldest-1)
		}
		whole := !any || oldest > x.loaded
		if x.unsaved.Load() && !whole {
			upTo = 0 // what was lost is not whole again: who opens the index next has to look for it too
		}
		if err := x.writeManifest(keys, next, upTo); err != nil {
			return nil, err
		}
		written = true
		return func() {
			x.publish(next)
			if whole {
				x.unsaved.Store(false)
			}
			x.journaled.Add(-covered.journaled)
		}, nil
	})
	if err != nil && next != nil {
		next.Release()
	}
	if err != nil && written {
		return fmt.Errorf("%w: %w", errUncertain, err)
	}
	return err
}
