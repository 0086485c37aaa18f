package store

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/store/synced"
)

// Census describes one state of a store in numbers. In an intact store, neither Batch nor Items+Deleted ever falls.
type Census struct {
	// Store is the id of the store (see Store.ID).
	Store string
	// Batch is the number of the newest batch.
	Batch uint64
	// Items is the number of items in all properties. Deleted is the number of items that were deleted so far, purged ones included.
	Items, Deleted int64
}

// Census returns the census of the current state.
func (s *Store) Census() Census { return peek(s, (*served).census) }

func (s *served) census() Census {
	c := Census{Store: s.id, Batch: s.version, Deleted: s.deleted}
	for _, p := range s.properties {
		c.Items += p.items
	}
	return c
}

// RestoredName is the name of the file that marks a directory as filled from a backup. It is the header of the backup. Open gives the
// store in such a directory a new id, because the original store may still run, and removes the file.
const RestoredName = "vitrine-backup.json"

func isRestored(disk vfs.FS, dir string) (bool, error) {
	_, err := disk.Stat(disk.PathJoin(dir, RestoredName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// forgetRestore removes the mark of a restore durably.
func forgetRestore(disk vfs.FS, dir string) error {
	if err := disk.Remove(disk.PathJoin(dir, RestoredName)); err != nil {
		return fmt.Errorf("remove the mark of the restore: %w", err)
	}
	return synced.SyncDir(disk, dir)
}
