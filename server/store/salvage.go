package store

import (
	"context"
	"errors"
	"iter"
	"slices"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/parallel"
)

// Damaged reports whether err means that stored bytes are damaged or that the disk cannot read them. Other items may still be
// readable.
func Damaged(err error) bool {
	_, undecodable := errors.AsType[*library.UnreadableItemError](err)
	return undecodable || pebble.IsCorruptionError(err) || errors.Is(err, syscall.EIO)
}

// Salvage yields the items with the given ids that are stored, in the order of ids. For an item that is Damaged it yields a
// *library.UnreadableItemError and continues. It ends with any other error, and with that of ctx. Each unreadable item costs up to a fifth
// of a second, because Pebble searches for a bit whose change would make the block valid.
func (s *Store) Salvage(ctx context.Context, p library.PropertyID, ids []item.ID) iter.Seq2[*item.Item, error] {
	return func(yield func(*item.Item, error) bool) {
		for chunk := range slices.Chunk(ids, readChunk) {
			items, err := s.ItemsByID(p, chunk)
			errs := make([]error, len(chunk))
			if Damaged(err) {
				items, err = make([]*item.Item, len(chunk)), nil
				parallel.Each(len(chunk), func(i int) {
					if errs[i] = ctx.Err(); errs[i] == nil {
						items[i], errs[i] = s.salvage(p, chunk[i])
					}
				})
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for i, it := range items {
				if it == nil && errs[i] == nil {
					continue // the item was deleted meanwhile
				}
				if !yield(it, errs[i]) || errs[i] != nil && !Damaged(errs[i]) {
					return
				}
			}
		}
	}
}

// salvage reads one item alone, nil if it does not exist. It uses no filter of the lowest level, which may be what is damaged.
func (s *Store) salvage(p library.PropertyID, id item.ID) (*item.Item, error) {
	value, err := ask(s, func(db *pebble.DB) ([]byte, error) { return get(db, itemKey(p, id)) })
	switch {
	case Damaged(err):
		return nil, &library.UnreadableItemError{ID: id, Err: err}
	case err != nil || value == nil:
		return nil, err
	}
	return decodeItem(id, value)
}
