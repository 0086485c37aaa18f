package store

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// IndexBatch adds keys of the index's own space to a batch. Keys and values are copied.
type IndexBatch struct{ batch *pebble.Batch }

// Set sets a key.
func (b *IndexBatch) Set(key, value []byte) error { return b.batch.Set(indexKey(key), value, nil) }

// Delete takes a key away, there or not.
func (b *IndexBatch) Delete(key []byte) error { return b.batch.Delete(indexKey(key), nil) }

// DeleteRange takes all keys away from the one to, without, the other; a nil to is the end of the space.
func (b *IndexBatch) DeleteRange(from, to []byte) error {
	return b.batch.DeleteRange(indexKey(from), indexEnd(to), nil)
}

func indexKey(key []byte) []byte {
	return append(append(make([]byte, 0, len(key)+1), spaceIndex), key...)
}

func indexEnd(to []byte) []byte {
	if to == nil {
		return []byte{spaceIndex + 1}
	}
	return indexKey(to)
}

// IndexValue returns the value of a key of the index's own, nil where it is not there.
func (s *Store) IndexValue(key []byte) ([]byte, error) {
	return ask(s, func(db *pebble.DB) ([]byte, error) { return get(db, indexKey(key)) })
}

// IndexPair is a key of the index's own with its value.
type IndexPair struct{ Key, Value []byte }

// IndexKeys returns at most limit (0: all) of the index's own keys, in byte order, from the one to, without, the other; a
// nil to is the end of the space.
func (s *Store) IndexKeys(from, to []byte, limit int) ([]IndexPair, error) {
	return ask(s, func(db *pebble.DB) ([]IndexPair, error) {
		var pairs []IndexPair
		err := scan(db, indexKey(from), indexEnd(to), func(key, value []byte) ([]byte, error) {
			if limit > 0 && len(pairs) == limit {
				return nil, errStop
			}
			pairs = append(pairs, IndexPair{Key: bytes.Clone(key[1:]), Value: bytes.Clone(value)})
			return nil, nil
		})
		return pairs, err
	})
}

// CommitIndex commits keys of the index's own, durable on return, at a time when no Change is prepared or installed. add
// puts them into a batch and returns what makes them visible to readers, nil for nothing; with its error nothing is
// committed. It changes no version. ErrUnavailable while the store takes no writes.
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
