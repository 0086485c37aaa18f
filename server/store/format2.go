package store

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/library"
)

// toFormat2 stores what version 1 kept only in memory: which item has a short code, and how many items a property has. It is
// unknown what a store of version 1 deleted and has not erased, so everything is rewritten once.
func toFormat2(db *pebble.DB, b *pebble.Batch) error {
	u := upgrade2{batch: b, counts: map[library.PropertyID]uint64{}, codes: map[string]bool{}}
	if err := scan(db, []byte{spaceProperty}, []byte{spaceProperty + 1}, u.key); err != nil {
		return err
	}
	for p, n := range u.counts {
		if err := setNumber(b, propertyKey(p, underCount), n); err != nil {
			return err
		}
	}
	everything := erasure{All: true}
	note, err := everything.encode()
	if err != nil {
		return err
	}
	return b.Set(eraseKey(0), note, nil)
}

type upgrade2 struct {
	batch  *pebble.Batch
	counts map[library.PropertyID]uint64
	codes  map[string]bool
}

func (u *upgrade2) key(key, value []byte) (skip []byte, err error) {
	p, under, rest, err := splitPropertyKey(key)
	if err != nil || under != underItem {
		return nil, err
	}
	stored, err := decodeValue(value)
	if err != nil {
		return nil, err
	}
	u.counts[p]++
	// Of two items with one code, which an import could create, the first one keeps it.
	if stored.ShortCode == "" || u.codes[stored.ShortCode] {
		return nil, nil
	}
	u.codes[stored.ShortCode] = true
	return nil, u.batch.Set(codeKey(p, stored.ShortCode), rest, nil)
}
