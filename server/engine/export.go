package engine

import (
	"context"
	"iter"
	"slices"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// exportChunk is how many items are read at once.
const exportChunk = 256

// Export yields items as lines, see library.Library.
func (l *Library) Export(ctx context.Context, p library.PropertyID, q query.Node) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for it, err := range l.exported(ctx, p, q) {
			var line []byte
			if err == nil {
				var c *definitions.Catalogue
				if c, err = l.servedCatalogue(p); err == nil {
					line = item.Marshal(it, ownUnits(c, it))
				}
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// servedCatalogue returns what a property serves besides its items. ErrNotFound, ErrClosed.
func (l *Library) servedCatalogue(p library.PropertyID) (*definitions.Catalogue, error) {
	if _, err := l.Property(p); err != nil {
		return nil, err
	}
	c := l.Catalogue(p)
	if c == nil {
		return nil, library.UnknownProperty(p)
	}
	return c, nil
}

// ownUnits are the units of an item itself: those of manifests come from manifests.
func ownUnits(c *definitions.Catalogue, it *item.Item) []item.Unit {
	var own []item.Unit
	for _, u := range it.Units {
		if known := c.Unit(u); known != nil {
			own = append(own, known.Unit)
		}
	}
	return own
}

// exported yields the items that match, by id.
func (l *Library) exported(ctx context.Context, p library.PropertyID, q query.Node) iter.Seq2[*item.Item, error] {
	if _, err := l.servedCatalogue(p); err != nil {
		return func(yield func(*item.Item, error) bool) { yield(nil, err) }
	}
	if _, all := q.(query.All); all || q == nil {
		return l.Items(ctx, p)
	}
	return func(yield func(*item.Item, error) bool) {
		ids, err := l.matching(ctx, p, q)
		if err != nil {
			yield(nil, err)
			return
		}
		for chunk := range slices.Chunk(ids, exportChunk) {
			items, err := l.ItemsByID(p, chunk)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, it := range items {
				if it != nil && !yield(it, nil) {
					return
				}
			}
		}
	}
}

// matching lists the items that match a query now, by id.
func (l *Library) matching(ctx context.Context, p library.PropertyID, q query.Node) ([]item.ID, error) {
	now := l.Now()
	s, release, err := l.snapshot(ctx, p, now)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.Matching(ctx, library.Read{Property: p, Audience: query.Private, Query: q, Now: now})
}
