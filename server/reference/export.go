package reference

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// exportChunk is how many items are written between two waits for the lock, so that an export keeps no writer waiting.
const exportChunk = 256

// Export yields items as lines, see library.Library.
func (l *Library) Export(ctx context.Context, p library.PropertyID, q query.Node) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if q == nil {
			q = query.All{}
		}
		ids, err := l.exported(ctx, p, q)
		if err != nil {
			yield(nil, err)
			return
		}
		for chunk := range slices.Chunk(ids, exportChunk) {
			lines, err := l.lines(p, chunk)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, line := range lines {
				if !yield(line, nil) {
					return
				}
			}
		}
	}
}

// exported lists the items that match, by id.
func (l *Library) exported(ctx context.Context, p library.PropertyID, q query.Node) (ids []item.ID, err error) {
	now := l.Now()
	err = l.view(p, now, func(p *property) error {
		if _, all := q.(query.All); all {
			ids = slices.Sorted(maps.Keys(p.records))
			return nil
		}
		listing, err := library.NewListing(library.Read{Property: p.id, Audience: query.Private, Query: q}, nil, "")
		if err != nil {
			return err
		}
		s, err := p.search(listing, now)
		if err != nil {
			return err
		}
		found, err := s.run(ctx)
		if err != nil {
			return err
		}
		for _, at := range found.places {
			ids = append(ids, at.ID)
		}
		slices.Sort(ids)
		return nil
	})
	return ids, err
}

// lines writes the items that are still there, each with its own tags and units: those of manifests come from manifests.
func (l *Library) lines(p library.PropertyID, ids []item.ID) ([][]byte, error) {
	l.memory.mu.RLock()
	defer l.memory.mu.RUnlock()
	prop, err := l.memory.served(p)
	if err != nil {
		return nil, err
	}
	lines := make([][]byte, 0, len(ids))
	for _, id := range ids {
		rec := prop.records[id]
		if rec == nil {
			continue
		}
		var own []item.Unit
		for _, u := range rec.item.Units {
			if known := prop.catalogue.Unit(u); known != nil {
				own = append(own, known.Unit)
			}
		}
		lines = append(lines, item.Marshal(rec.item, own))
	}
	return lines, nil
}
