package index

import (
	"errors"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/store"
)

// coverage describes the data that files hold after the swap of a commit.
type coverage struct {
	// through is the last batch up to which the files hold all data. If memory still holds older data, commit uses an earlier batch instead.
	through uint64
	// journaled is the approximate number of journal keys that are not needed after the swap.
	journaled int64
}

// errUncertain means that the manifest may or may not have been written. In this case, the files that the manifest names must not be
// removed, and the store and the index are opened again.
var errUncertain = errors.New("it is not known whether the manifest was written")

// commit makes the snapshot that swap returns visible. If `to` is toFile, commit also writes a manifest to the store `through`.
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
			upTo = 0 // lost data is not yet in files, so the next opening must search for it again
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
