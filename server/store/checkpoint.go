package store

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Checkpoint makes a copy of the store in dir, which must be there and hold no copy yet: the state after one batch, whose
// number is returned. On the same disk it costs links instead of bytes. A Vitrine opens the copy as it opens the store.
// An error, such as that of a full disk, harms the copy alone: what there is of it can be removed. The index is not copied:
// it is made anew where it is missing.
func (s *Store) Checkpoint(ctx context.Context, dir string) (version uint64, err error) {
	s.holding.Lock()
	defer s.holding.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	db, err := s.database()
	if err != nil {
		return 0, err
	}
	version = s.served.version
	err = db.call(func() error {
		return db.pebble.Checkpoint(s.options.FS.PathJoin(dir, databaseName), pebble.WithFlushedWAL())
	})
	if err != nil {
		return 0, fmt.Errorf("copy the store: %w", err)
	}
	return version, nil
}
