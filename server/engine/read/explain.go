package read

import (
	"context"
	"slices"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Tags lists the tags of an item, including those that manifests add. See library.Library.ItemTags.
func (s *Snapshot) Tags(ctx context.Context, id item.ID) ([]item.Tag, error) {
	_, tags, _, err := s.tagged(ctx, id)
	return tags, err
}

// tagged reads an item from the store. It returns the item, all of its tags, and its document as a search.Hit.
func (s *Snapshot) tagged(ctx context.Context, id item.ID) (*item.Item, []item.Tag, search.Hit, error) {
	h, ok := s.find(id)
	if !ok {
		return nil, nil, h, library.UnknownItem(id)
	}
	it, err := s.property.Store.Item(s.property.ID, id)
	if err != nil {
		return nil, nil, h, err
	}
	byRule, err := s.ruleTags(ctx, h)
	if err != nil {
		return nil, nil, h, err
	}
	tags := slices.Concat(it.Tags, byRule)
	slices.SortFunc(tags, item.CompareTags)
	return it, slices.Compact(tags), h, nil
}

// Explain explains why a listing contains an item, or why not. See library.Library. r.Now is the time of the Snapshot, truncated to
// milliseconds.
func (s *Snapshot) Explain(ctx context.Context, r library.Read, id item.ID) (*library.Explanation, error) {
	listing, err := s.Catalogue.Listing(r)
	if err != nil {
		return nil, err
	}
	root, err := s.root(ctx, listing, r.Now)
	if err != nil {
		return nil, err
	}
	doc, err := s.document(ctx, id)
	if err != nil {
		return nil, err
	}
	e, err := eval.Explain(ctx, s.corpus.Statistics(), root, doc)
	if err != nil {
		return nil, err
	}
	return &e, nil
}

// document returns the document of an item for package eval, with the tags and units that readers see.
func (s *Snapshot) document(ctx context.Context, id item.ID) (*eval.Doc, error) {
	it, tags, h, err := s.tagged(ctx, id)
	if err != nil {
		return nil, err
	}
	shown, err := s.corpus.Units(ctx, s.corpus.Parts[h.Part], h.Doc)
	if err != nil {
		return nil, err
	}
	var units []item.Unit
	for _, u := range shown {
		if known := s.Catalogue.Unit(u); known != nil {
			units = append(units, known.Unit)
		}
	}
	var byDefault *item.Unit
	if s.Catalogue.Default != nil {
		byDefault = &s.Catalogue.Default.Unit
	}
	return eval.NewItemDoc(it, units, byDefault, tags), nil
}
