package engine

import (
	"context"
	"iter"
	"slices"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/store"
)

// Export yields each item as one line. See library.Library.
func (l *Library) Export(ctx context.Context, p library.PropertyID, q query.Node) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for it, err := range l.exported(ctx, p, q) {
			if err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			c, err := l.store.Served(p)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(item.Marshal(it, ownUnits(c, it)), nil) {
				return
			}
		}
	}
}

// ownUnits returns the item's own units, without those that manifests add.
func ownUnits(c *definitions.Catalogue, it *item.Item) []item.Unit {
	var own []item.Unit
	for _, u := range it.Units {
		if known := c.Unit(u); known != nil {
			own = append(own, known.Unit)
		}
	}
	return own
}

// exported yields the matching items in ascending order of IDs, and a *library.UnreadableItemError for each item that cannot be read. For
// query.All, it reads the store in one pass. If a block of the store is damaged, this pass cannot read the keys after the damage. For the
// remaining items, exported takes the IDs from the index.
func (l *Library) exported(ctx context.Context, p library.PropertyID, q query.Node) iter.Seq2[*item.Item, error] {
	return func(yield func(*item.Item, error) bool) {
		if _, err := l.store.Served(p); err != nil {
			yield(nil, err)
			return
		}
		var next item.ID
		if _, all := q.(query.All); all || q == nil {
			q = query.All{}
			var it *item.Item
			var err error
			for it, err = range l.store.Items(ctx, p) {
				if err != nil {
					break
				}
				if !yield(it, nil) {
					return
				}
				next = it.ID + 1
			}
			if !store.Damaged(err) {
				if err != nil {
					yield(nil, err)
				}
				return
			}
		}
		ids, err := l.matching(ctx, p, q)
		if err != nil {
			yield(nil, err)
			return
		}
		from, _ := slices.BinarySearch(ids, next)
		l.store.Salvage(ctx, p, ids[from:])(yield)
	}
}
