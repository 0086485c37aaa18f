package store

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/parallel"
)

// readChunk is the number of items that are read and decoded together. It is large enough to use all processors, and small enough to need
// little memory.
const readChunk = 1024

// Item reads one item of a property, even if the property is not served. It fails with ErrNotFound.
func (s *Store) Item(p library.PropertyID, id item.ID) (*item.Item, error) {
	items, err := s.ItemsByID(p, []item.ID{id})
	if err != nil {
		return nil, err
	}
	if items[0] == nil {
		return nil, library.UnknownItem(id)
	}
	return items[0], nil
}

// Has reports whether an item exists.
func (s *Store) Has(p library.PropertyID, id item.ID) (bool, error) {
	return lookUp(s, func(f finder) (bool, error) { return f.has(itemKey(p, id)) })
}

// ItemsByID reads items by id. For an id that no item has, the returned slice contains nil.
func (s *Store) ItemsByID(p library.PropertyID, ids []item.ID) ([]*item.Item, error) {
	return ask(s, func(db *pebble.DB) ([]*item.Item, error) {
		items := make([]*item.Item, len(ids))
		err := findAll(db, len(ids), func(f finder, i int) error {
			l := lookup{place: place{p, ids[i]}, decode: true}
			err := l.run(f, nil)
			items[i] = l.item
			return errors.Join(err, l.err)
		})
		return items, err
	})
}

// Items yields all items of a property in the order of ids. It decodes them on all processors. An item that changes during the iteration
// may appear in its old or new state. The sequence ends with the first error. If ctx ends, this is the error of ctx.
func (s *Store) Items(ctx context.Context, p library.PropertyID) iter.Seq2[*item.Item, error] {
	return func(yield func(*item.Item, error) bool) {
		for next := item.ID(0); ; {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			items, err := s.itemsFrom(p, next)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, it := range items {
				if !yield(it, nil) {
					return
				}
				next = it.ID + 1
			}
			if len(items) < readChunk {
				return
			}
		}
	}
}

// itemsFrom reads a chunk of the items of a property by id, beginning with the id from.
func (s *Store) itemsFrom(p library.PropertyID, from item.ID) ([]*item.Item, error) {
	items, err := ask(s, func(db *pebble.DB) ([]*item.Item, error) { return itemsFrom(db, p, from) })
	if err != nil {
		return nil, fmt.Errorf("property %s: %w", p, err)
	}
	return items, nil
}

// itemsFrom reads a chunk of the items of a property by id, beginning with the id from.
func itemsFrom(db *pebble.DB, p library.PropertyID, from item.ID) ([]*item.Item, error) {
	type stored struct {
		id    item.ID
		value []byte
	}
	var values []stored
	err := eachItem(db, p, from, readChunk, func(id item.ID, value []byte) {
		values = append(values, stored{id, append([]byte(nil), value...)})
	})
	if err != nil {
		return nil, err
	}
	items := make([]*item.Item, len(values))
	errs := make([]error, len(values))
	parallel.Each(len(values), func(i int) { items[i], errs[i] = decodeItem(values[i].id, values[i].value) })
	return items, errors.Join(errs...)
}

// ItemIDs yields the ids of the items of a property in ascending order, beginning with the id from. It may or may not yield items that are
// created or deleted during the iteration.
func (s *Store) ItemIDs(ctx context.Context, p library.PropertyID, from item.ID) iter.Seq2[item.ID, error] {
	return func(yield func(item.ID, error) bool) {
		for next := from; ; {
			if err := ctx.Err(); err != nil {
				yield(0, err)
				return
			}
			ids, err := ask(s, func(db *pebble.DB) ([]item.ID, error) {
				ids := make([]item.ID, 0, readChunk)
				err := eachItem(db, p, next, readChunk, func(id item.ID, _ []byte) { ids = append(ids, id) })
				return ids, err
			})
			if err != nil {
				yield(0, err)
				return
			}
			for _, id := range ids {
				if !yield(id, nil) {
					return
				}
				next = id + 1
			}
			if len(ids) < readChunk {
				return
			}
		}
	}
}

// eachItem calls take with at most limit stored items of a property in the order of ids, beginning with the id from. A value is valid only
// during the call of take.
func eachItem(db *pebble.DB, p library.PropertyID, from item.ID, limit int, take func(id item.ID, value []byte)) error {
	prefix := len(propertyKey(p, underItem))
	return scan(db, itemKey(p, from), propertyKey(p, underItem+1), func(key, value []byte) ([]byte, error) {
		if limit == 0 {
			return nil, errStop
		}
		limit--
		id, err := decodeNumber(key[prefix:])
		if err == nil {
			take(item.ID(id), value)
		}
		return nil, err
	})
}
