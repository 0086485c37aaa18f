package store

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store/synced"
)

var _ library.Measurer = (*Store)(nil)

// metrics returns the metrics of the database. It fails with ErrClosed, or with the reason why the database failed.
func (s *Store) metrics() (*pebble.Metrics, error) {
	db, err := s.database()
	if err != nil {
		return nil, err
	}
	answer := make(chan *pebble.Metrics, 1) // received only if call succeeds, because the function may otherwise still be running
	err = db.call(func() error {
		answer <- db.pebble.Metrics()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return <-answer, nil
}

// Measures returns the measures of the database (see library.Measurer).
func (s *Store) Measures() []library.Measure {
	m, err := s.metrics()
	if err != nil {
		return nil
	}
	lost := 0.0
	if db, err := s.database(); err == nil && db.accepted != nil {
		if lost = float64(db.accepted.Bytes); lost == 0 {
			lost = -1
		}
	}
	return []library.Measure{
		{Name: "store_accepted_loss_bytes", Help: "Bytes of acknowledged writes that were missing when the store was opened, and whose loss --accept-loss accepted; -1 if their number is unknown.", Value: lost},
		{Name: "store_wal_bytes", Help: "Size of the write-ahead log, which is replayed at start, in bytes.", Value: float64(m.WAL.Size)},
		{Name: "store_memtable_bytes", Help: "Size of writes that are not in tables yet, in bytes.", Value: float64(m.MemTable.Size)},
		{Name: "store_read_amplification", Help: "Tables that a lookup may have to read.", Value: float64(m.ReadAmp())},
		{Name: "store_compaction_debt_bytes", Help: "Bytes that compactions still have to move.", Value: float64(m.Compact.EstimatedDebt)},
		{Name: "store_compactions_total", Help: "Completed compactions.", Counter: true, Value: float64(m.Compact.Count)},
		{Name: "store_block_cache_bytes", Help: "Size of the block cache, in bytes.", Value: float64(m.BlockCache.Size)},
		{Name: "store_block_cache_hits_total", Help: "Block cache hits.", Counter: true, Value: float64(m.BlockCache.Hits)},
		{Name: "store_block_cache_misses_total", Help: "Block cache misses.", Counter: true, Value: float64(m.BlockCache.Misses)},
	}
}

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
