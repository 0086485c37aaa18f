package store

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/library"
)

// toFormat2 stores the data that version 1 kept only in memory: the item of each short code, and the number of items in each property.
// Format 1 has no record of deleted data that is not erased yet, so toFormat2 also requests that the whole store is rewritten once.
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
	// In format 1, an import could create two items with the same code. The first item keeps the code.
	if stored.ShortCode == "" || u.codes[stored.ShortCode] {
		return nil, nil
	}
	u.codes[stored.ShortCode] = true
	return nil, u.batch.Set(codeKey(p, stored.ShortCode), rest, nil)
}
