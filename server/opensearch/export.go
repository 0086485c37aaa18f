package opensearch

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/opensearch/translate"
	"github.com/vitrine-dev/vitrine/server/query"
)

// exportChunk is the number of items that each search of an export or of Lines returns.
const exportChunk = 500

// Export yields items as lines. See library.Library.
func (l *Library) Export(ctx context.Context, p library.PropertyID, q query.Node) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if q == nil {
			q = query.All{}
		}
		c, err := l.Served(p)
		if err != nil {
			yield(nil, err)
			return
		}
		began := false
		_, err = withoutRefused(ctx, newView(l.conn, c, l.now()), func(v *view) (struct{}, error) {
			err := l.export(ctx, v, q, func(line []byte, err error) bool {
				began = true
				return yield(line, err)
			})
			if began && isRefusal(err) {
				err = errors.New("continue the export: " + err.Error()) // not wrapped, because an export that began cannot begin again
			}
			return struct{}{}, err
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

func (l *Library) export(ctx context.Context, v *view, q query.Node, yield func([]byte, error) bool) error {
	root, err := v.plan(ctx, library.Part{Query: q, Audience: query.Private}, v.now)
	if err != nil {
		return err
	}
	matching, err := v.queries.Query(ctx, root)
	if err != nil {
		return err
	}
	for last := item.ID(0); ; {
		if err := l.alive(ctx); err != nil {
			return err
		}
		body := object{
			"query": translate.AllOf(matching), "size": exportChunk, "track_total_hits": false, "stored_fields": []string{schema.FieldItem},
			"sort": []any{object{"id": "asc"}}, "search_after": []any{last},
		}
		var found cluster.HitsOf[answerHit]
		if err := v.search(ctx, body, &found); err != nil {
			return err
		}
		for _, h := range found.Hits.Hits {
			s := h.stored()
			it, err := s.Item()
			if err != nil {
				return fmt.Errorf("export: %w", err)
			}
			last = it.ID
			if !yield(item.Marshal(it, l.ownUnits(v.catalogue.Property, it)), nil) {
				return nil
			}
		}
		if len(found.Hits.Hits) < exportChunk {
			return nil
		}
	}
}

// ownUnits returns the current definitions of the item's own units. An export contains no units of rules, because manifests define them.
func (l *Library) ownUnits(p library.PropertyID, it *item.Item) []item.Unit {
	var own []item.Unit
	c := l.records.Now().Set.Catalogue(p)
	if c == nil {
		return nil
	}
	for _, id := range it.Units {
		if u := c.Unit(id); u != nil {
			own = append(own, u.Unit)
		}
	}
	return own
}
