package store

import (
	"bytes"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
	"github.com/vitrine-dev/vitrine/server/parallel"
)

// toFormat3 records the names of the dynamic fields that the items of each property have. It does not record names that only deleted items
// had.
func toFormat3(db *pebble.DB, b *pebble.Batch) error {
	authorKey, err := get(db, []byte(keyAuthorKey))
	if err != nil {
		return err
	}
	u := upgrade3{batch: b, namer: mutations.NewNamer(authorKey), values: make([][]byte, 0, readChunk)}
	err = scan(db, []byte{spaceProperty}, []byte{spaceProperty + 1}, u.key)
	return errors.Join(err, u.flush())
}

// upgrade3 collects stored items of one property, in order to decode them together on all processors.
type upgrade3 struct {
	batch    *pebble.Batch
	namer    *mutations.Namer
	property library.PropertyID
	known    map[mutations.NameSum]bool // of property
	values   [][]byte
}

// key handles a key. It returns the key to continue with, or nil for the next key.
func (u *upgrade3) key(key, value []byte) (skip []byte, err error) {
	p, under, _, err := splitPropertyKey(key)
	if err != nil {
		return nil, err
	}
	if under < underItem {
		return propertyKey(p, underItem), nil
	}
	if under > underItem {
		_, upper := propertyBounds(p)
		return upper, nil
	}
	if p != u.property || len(u.values) == cap(u.values) {
		if err := u.flush(); err != nil {
			return nil, err
		}
	}
	if p != u.property {
		u.property, u.known = p, map[mutations.NameSum]bool{}
	}
	u.values = append(u.values, bytes.Clone(value))
	return nil, nil
}

// flush records the names of the dynamic fields in the collected items.
func (u *upgrade3) flush() error {
	names := make([][]string, len(u.values))
	parallel.Each(len(u.values), func(i int) {
		// Skip an item that cannot be decoded: queries cannot find its fields anyway, and it must not keep the store from opening.
		if stored, err := decodeValue(u.values[i]); err == nil {
			names[i] = slices.Collect(stored.FieldNames())
		}
	})
	u.values = u.values[:0]
	for _, of := range names {
		for _, name := range of {
			sum := u.namer.Sum(name)
			if u.known[sum] {
				continue
			}
			u.known[sum] = true
			if err := u.batch.Set(nameKey(u.property, sum), nil, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
