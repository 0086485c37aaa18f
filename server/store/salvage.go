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

// Damaged reports whether err means that some stored bytes are damaged or that the disk cannot read them. In this case, other items may
// still be readable.
func Damaged(err error) bool {
	_, undecodable := errors.AsType[*library.UnreadableItemError](err)
	return undecodable || pebble.IsCorruptionError(err) || errors.Is(err, syscall.EIO)
}

// Salvage yields the stored items among ids, in that order. For a damaged item (see Damaged), it yields a *library.UnreadableItemError and
// continues. Any other error, and the end of ctx, ends the sequence. Each damaged item takes up to a fifth of a second, because Pebble
// tries to find a single flipped bit that explains the damage of the block.
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
					continue // there is no item with this id
				}
				if !yield(it, errs[i]) || errs[i] != nil && !Damaged(errs[i]) {
					return
				}
			}
		}
	}
}

// salvage reads a single item, or returns nil if the item does not exist. It does not use the Bloom filters of the lowest level, because
// the damage may be in a filter.
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
