package store

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/parallel"
)

// scan calls take with each key in [lower, upper), in ascending order, and with its value. Both are valid only during the call. If take
// returns a key in skip, scan continues with that key. If take returns errStop, scan ends without an error. If take returns another error,
// scan ends and returns the error together with the key.
func scan(db *pebble.DB, lower, upper []byte, take func(key, value []byte) (skip []byte, err error)) error {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	for valid := it.First(); valid && err == nil; {
		var value, skip []byte
		if value, err = it.ValueAndErr(); err == nil {
			skip, err = take(it.Key(), value)
		}
		switch {
		case errors.Is(err, errStop):
			return it.Close()
		case err != nil:
			err = fmt.Errorf("key %q: %w", it.Key(), err)
		case skip != nil:
			valid = it.SeekGE(skip)
		default:
			valid = it.Next()
		}
	}
	return errors.Join(err, it.Error(), it.Close())
}

var errStop = errors.New("the scan has ended")

// finder looks up single keys. Unlike DB.Get, it also uses the Bloom filters of the lowest level, which contains most of the data. This
// makes it faster before a write, because most keys that a write looks up do not exist. Lookups are fastest in ascending order of keys.
type finder struct{ it *pebble.Iterator }

// find returns the value of a key, and true if the key exists. The value is valid until the next call.
func (f finder) find(key []byte) (value []byte, there bool, err error) {
	if there, err = f.has(key); !there {
		return nil, false, err
	}
	value, err = f.it.ValueAndErr()
	return value, true, err
}

// has reports whether a key exists.
func (f finder) has(key []byte) (bool, error) {
	if !f.it.SeekPrefixGE(key) {
		return false, f.it.Error()
	}
	return bytes.Equal(f.it.Key(), key), nil
}

// findAll calls do with each number from 0 to n-1, and on all processors if n is large. The calls must be independent of each other.
func findAll(db *pebble.DB, n int, do func(f finder, i int) error) error {
	workers := parallel.Workers(n)
	return parallel.Run(workers, func(worker int) error {
		return <-guard(func() error {
			it, err := db.NewIter(&pebble.IterOptions{UseL6Filters: true})
			if err != nil {
				return err
			}
			for i := worker; i < n && err == nil; i += workers {
				err = do(finder{it}, i)
			}
			return errors.Join(err, it.Close())
		})
	})
}

// lookUp reads the database with a finder.
func lookUp[T any](s *Store, look func(f finder) (T, error)) (T, error) {
	return ask(s, func(db *pebble.DB) (found T, err error) {
		err = findAll(db, 1, func(f finder, _ int) error {
			found, err = look(f)
			return err
		})
		return found, err
	})
}
