package store

import (
	"bytes"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/parallel"
)

// finder looks up single keys. Unlike DB.Get it asks the filters of the lowest level too, which hold most of what is
// there: most keys that are looked up before a write are not there. Keys in ascending order are found fastest.
type finder struct{ it *pebble.Iterator }

// find returns the value of a key, good until the next call, and whether the key is there.
func (f finder) find(key []byte) (value []byte, there bool, err error) {
	if there, err = f.has(key); !there {
		return nil, false, err
	}
	value, err = f.it.ValueAndErr()
	return value, true, err
}

// has reports whether a key is there.
func (f finder) has(key []byte) (bool, error) {
	if !f.it.SeekPrefixGE(key) {
		return false, f.it.Error()
	}
	return bytes.Equal(f.it.Key(), key), nil
}

// findAll calls do with 0 to n-1, on all processors where there are many. The calls must not depend on one another.
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
