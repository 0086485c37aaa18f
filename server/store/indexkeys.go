package store

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// IndexBatch adds changes of the index's own keys to a batch. It copies keys and values.
type IndexBatch struct{ batch *pebble.Batch }

// Set sets a key.
func (b *IndexBatch) Set(key, value []byte) error { return b.batch.Set(indexKey(key), value, nil) }

// DeleteRange deletes all keys in [from, to).
func (b *IndexBatch) DeleteRange(from, to []byte) error {
	return b.batch.DeleteRange(indexKey(from), indexKey(to), nil)
}

func indexKey(key []byte) []byte {
	return append(append(make([]byte, 0, len(key)+1), spaceIndex), key...)
}

// IndexValue returns the value of one of the index's own keys, or nil if it does not exist.
func (s *Store) IndexValue(key []byte) ([]byte, error) {
	return ask(s, func(db *pebble.DB) ([]byte, error) { return get(db, indexKey(key)) })
}

// IndexKeys returns the index's own keys in [from, to), in byte order.
func (s *Store) IndexKeys(from, to []byte) ([][]byte, error) {
	return ask(s, func(db *pebble.DB) (keys [][]byte, err error) {
		err = scan(db, indexKey(from), indexKey(to), func(key, _ []byte) ([]byte, error) {
			keys = append(keys, bytes.Clone(key[1:]))
			return nil, nil
		})
		return keys, err
	})
}

// CommitIndex durably commits changes of the index's own keys, at a time when the store neither prepares nor installs a Change. The
// callback add adds the changes to a batch. It returns a function that makes them visible to readers, or nil if there is nothing to do. If
// add fails, CommitIndex commits nothing. CommitIndex changes no version. CommitIndex fails with ErrUnavailable while the store accepts no
// writes.
func (s *Store) CommitIndex(add func(keys *IndexBatch) (install func(), err error)) error {
	s.holding.Lock()
	defer s.holding.Unlock()
	db, err := s.database()
	if err != nil {
		return err
	}
	if failure := db.failure(); failure != nil {
		return unavailable(failure)
	}
	b := db.pebble.NewBatch()
	install, err := add(&IndexBatch{batch: b})
	if err != nil {
		return errors.Join(fmt.Errorf("prepare keys of the index: %w", err), b.Close())
	}
	if err := db.commit(b); err != nil {
		return unavailable(err)
	}
	if install != nil {
		install()
	}
	return nil
}
