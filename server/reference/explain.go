package reference

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Explain says why an item is in an answer or is not, see library.Library.
func (l *Library) Explain(ctx context.Context, r library.Read, id item.ID) (*library.Explanation, error) {
	if r.Now.IsZero() {
		r.Now = l.Now()
	}
	var out *library.Explanation
	err := l.view(r.Property, r.Now, func(p *property) error {
		listing, err := p.catalogue.Listing(r)
		if err != nil {
			return err
		}
		rec := p.records[id]
		if rec == nil {
			return library.UnknownItem(id)
		}
		s, err := p.search(listing, r.Now)
		if err != nil {
			return err
		}
		e, err := eval.Explain(ctx, p.corpus, s.root, rec.doc)
		out = &e
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
