package engine

import (
	"context"
	"math"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Explain says why an item is in an answer or is not, see library.Library.
func (l *Library) Explain(ctx context.Context, r library.Read, id item.ID) (*library.Explanation, error) {
	r.Now = l.instant(r)
	m, let, err := l.moment(ctx, r.Property, r.Now)
	if err != nil {
		return nil, err
	}
	defer let()
	listing, err := m.catalogue.Listing(r)
	if err != nil {
		return nil, err
	}
	root, err := m.root(ctx, listing, r.Now)
	if err != nil {
		return nil, err
	}
	doc, err := l.document(ctx, m, id)
	if err != nil {
		return nil, err
	}
	e, err := eval.Explain(ctx, m.corpus, root, doc)
	if err != nil {
		return nil, err
	}
	return &e, nil
}

// document makes the document of one item, with the tags and units that it shows.
func (l *Library) document(ctx context.Context, m *moment, id item.ID) (*eval.Doc, error) {
	it, tags, h, err := l.item(ctx, m, id)
	if err != nil {
		return nil, err
	}
	shown, err := m.corpus.Units(ctx, m.parts[h.Part], h.Doc)
	if err != nil {
		return nil, err
	}
	var units []item.Unit
	for _, u := range shown {
		if known := m.catalogue.Unit(u); known != nil {
			units = append(units, known.Unit)
		}
	}
	var byDefault *item.Unit
	if m.catalogue.Default != nil {
		byDefault = &m.catalogue.Default.Unit
	}
	created := int64(math.MinInt64) // an item without a date is older than any with one
	values := it.Values(units, byDefault, tags)
	for f, v := range values {
		if f.Name == createdOn {
			created = v.Int
		}
	}
	return eval.NewDoc(id, created, func(yield func(query.Field, query.Value) bool) {
		for f, v := range values {
			if !yield(f, v) {
				return
			}
		}
	}), nil
}

// createdOn is the field of the tie rule.
const createdOn = "created_on"
