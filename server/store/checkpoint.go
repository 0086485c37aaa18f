package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store/synced"
)

// Checkpoint copies the store to dir, which must exist and contain no copy yet. The copy contains the state after a certain batch, and
// Checkpoint returns the census of that state. If dir is on the same disk, the files of the copy are hard links. Vitrine can open a copy as
// its store. If Checkpoint fails, for example because the disk is full, the store is not affected, and the caller can remove the files of
// the copy. Checkpoint does not copy the index, which a library rebuilds when it opens the copy.
func (s *Store) Checkpoint(ctx context.Context, dir string) (Census, error) {
	s.holding.Lock()
	defer s.holding.Unlock()
	if err := ctx.Err(); err != nil {
		return Census{}, err
	}
	db, err := s.database()
	if err != nil {
		return Census{}, err
	}
	census := s.served.census()
	err = db.call(func() error {
		copied := s.options.FS.PathJoin(dir, databaseName)
		if err := db.pebble.Checkpoint(copied, pebble.WithFlushedWAL()); err != nil {
			return err
		}
		return synced.Seal(s.options.FS, copied)
	})
	if err != nil {
		return Census{}, fmt.Errorf("copy the store: %w", err)
	}
	return census, nil
}

// VerifyCopy opens the copy in dir like a Store, but read-only, and decodes every definition, item and journal in it. For each property, it calls
// the function try with the items in the order of ids, at most readChunk in each call. A library can check in try whether it can index the
// items. VerifyCopy also compares the number of items of each property with the counter of the property. VerifyCopy reads the whole copy
// once, one chunk at a time, and blocks neither readers nor writers of s. Its error names what cannot be read, or is the error of try.
func (s *Store) VerifyCopy(ctx context.Context, dir string, try func(library.PropertyID, []*item.Item) error) error {
	const lockName = "LOCK" // a file that Pebble creates in every database that it opens
	o := Options{FS: s.options.FS, Logger: slog.New(slog.DiscardHandler), MemoryBytes: 8 << 20, MemTableBytes: 2 << 20}
	name := o.FS.PathJoin(dir, databaseName)
	db, err := openDatabase(o, name, true)
	if err != nil {
		return fmt.Errorf("open the copy of the store: %w", err)
	}
	err = db.call(func() error {
		found, err := load(db.pebble, s.options.Random)
		if err != nil {
			return err
		}
		for _, p := range slices.Sorted(maps.Keys(found.properties)) {
			n, err := verifyItems(ctx, db.pebble, p, try)
			if want := found.properties[p].items; err == nil && n != want {
				err = fmt.Errorf("it has %d items, but its counter says %d", n, want)
			}
			if err == nil {
				err = verifyJournal(db.pebble, p)
			}
			if err != nil {
				return fmt.Errorf("property %s: %w", p, err)
			}
		}
		return nil
	})
	err = errors.Join(err, db.close())
	if left := o.FS.Remove(o.FS.PathJoin(name, lockName)); !errors.Is(left, fs.ErrNotExist) {
		err = errors.Join(err, left)
	}
	if err != nil {
		return fmt.Errorf("verify the copy of the store: %w", err)
	}
	return nil
}

// verifyItems decodes the items of one property, and returns their number.
func verifyItems(ctx context.Context, db *pebble.DB, p library.PropertyID, try func(library.PropertyID, []*item.Item) error) (n int64, err error) {
	for next := item.ID(0); ; {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		items, err := itemsFrom(db, p, next)
		if err == nil && len(items) > 0 {
			err = try(p, items)
		}
		if err != nil {
			return n, err
		}
		if n += int64(len(items)); len(items) < readChunk {
			return n, nil
		}
		next = items[len(items)-1].ID + 1
	}
}
