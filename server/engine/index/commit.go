package index

import (
	"errors"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/store"
)

// coverage describes the data that a swap moves from memory into files.
type coverage struct {
	// through is the batch up to which files hold everything, unless older data is left in memory.
	through uint64
	// journaled is the approximate number of journal keys that the swap makes obsolete.
	journaled int64
}

// errUncertain is returned when a manifest may or may not have been written. The files that it may name must stay. The store and
// the index are then opened again.
var errUncertain = errors.New("it is not known whether the manifest was written")

// commit makes a swap visible, and durable if it changes files.
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
			upTo = 0 // the lost data is not complete yet: the next opening must look for it, too
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
