package opensearch

import (
	"context"
	"slices"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/opensearch/translate"
	"github.com/vitrine-dev/vitrine/server/query"
)

// appendItems appends the items of a page, separated by commas, with the fields that the audience may see.
func (v *view) appendItems(ctx context.Context, r library.Read, hits []hit) ([]byte, error) {
	items, encoded := make([]*item.Item, len(hits)), make([]item.Encoded, len(hits))
	for i, h := range hits {
		it, err := v.shown.get(&h.Stored)
		if err != nil {
			return nil, err
		}
		items[i], encoded[i] = it.Item, it.encoded
	}
	shown, err := v.shownUnits(ctx, items)
	if err != nil {
		return nil, err
	}
	dst := r.Into
	for i, e := range encoded {
		before := len(dst)
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.Append(dst, r.Audience, v.catalogue.Slots(shown[i], r.BaseURL))
		if r.Room != nil {
			if err := r.Room(len(dst) - before); err != nil {
				return nil, err
			}
		}
	}
	return dst, nil
}

// shownUnits returns the ids of the units that each item shows: first its own units, then the units of rules, by id. The result may
// contain ids of units that the property does not have.
func (v *view) shownUnits(ctx context.Context, items []*item.Item) ([][]int64, error) {
	shown := make([][]int64, len(items))
	for i, it := range items {
		shown[i] = slices.Clip(it.Units)
	}
	if len(v.catalogue.UnitRules) == 0 || len(items) == 0 {
		return shown, nil
	}
	rules := v.queries.UnitRules()
	found := make([][]int, len(items))
	for i, it := range items {
		found[i] = slices.Collect(rules.Listing(it.ID))
	}
	if err := v.otherUnits(ctx, items, rules.Others, found); err != nil {
		return nil, err
	}
	for i := range items {
		slices.Sort(found[i])
		for _, rule := range found[i] {
			if unit := v.catalogue.UnitRules[rule].Unit; !slices.Contains(shown[i], unit) {
				shown[i] = append(shown[i], unit)
			}
		}
	}
	return shown, nil
}

// otherUnits appends to found the given unit rules of each item.
func (v *view) otherUnits(ctx context.Context, items []*item.Item, rules []int, found [][]int) error {
	if len(rules) == 0 {
		return nil
	}
	tags, err := v.shownTags(ctx, items, slices.ContainsFunc(rules, func(rule int) bool { return namesTags(v.catalogue.UnitRules[rule]) }))
	if err != nil {
		return err
	}
	corpus := corpusOf(items, tags)
	for _, rule := range rules {
		r := v.catalogue.UnitRules[rule]
		members, err := v.members(ctx, r, corpus)
		if err != nil {
			return err
		}
		for i, it := range items {
			if r.Names(it.ID) || members[it.ID] {
				found[i] = append(found[i], rule)
			}
		}
	}
	return nil
}

// namesTags reports whether the selector of a rule depends on tags.
func namesTags(r *definitions.Rule) bool {
	return r.Selector != nil && slices.ContainsFunc(query.Names(r.Selector), func(n query.FieldName) bool { return n.Reaches("tags") })
}

// shownTags returns the sorted tags of each item. If rules is true, it includes the tags that manifests add.
func (v *view) shownTags(ctx context.Context, items []*item.Item, rules bool) ([][]item.Tag, error) {
	tags := make([][]item.Tag, len(items))
	for i, it := range items {
		tags[i] = slices.Clone(it.Tags)
	}
	if !rules || len(v.catalogue.TagRules) == 0 {
		return tags, nil
	}
	corpus := corpusOf(items, tags)
	for _, r := range v.catalogue.TagRules {
		members, err := v.members(ctx, r, corpus)
		if err != nil {
			return nil, err
		}
		for i, it := range items {
			if r.Names(it.ID) || members[it.ID] {
				tags[i] = append(tags[i], r.Tag)
			}
		}
	}
	for i := range tags {
		slices.SortFunc(tags[i], item.CompareTags)
		tags[i] = slices.Compact(tags[i])
	}
	return tags, nil
}

// corpusOf returns a corpus with a document for each item, with the given tags and without units.
func corpusOf(items []*item.Item, tags [][]item.Tag) *eval.Corpus {
	corpus := eval.NewCorpus()
	for i, it := range items {
		corpus.Put(eval.NewItemDoc(it, nil, nil, tags[i]))
	}
	return corpus
}

// members returns the items of a corpus that match the selector of a rule.
func (v *view) members(ctx context.Context, r *definitions.Rule, corpus *eval.Corpus) (map[item.ID]bool, error) {
	selector, err := v.selector(ctx, r)
	if err != nil || selector == nil {
		return nil, err
	}
	hits, err := translate.Evaluate(ctx, corpus, selector)
	if err != nil {
		return nil, err
	}
	members := make(map[item.ID]bool, len(hits))
	for _, h := range hits {
		members[h.Doc.ID()] = true
	}
	return members, nil
}

// item returns an item as of the last acknowledged write, or ErrNotFound if the item does not exist.
func (v *view) item(ctx context.Context, id item.ID) (*item.Item, error) {
	found, err := v.indices.Load(ctx, v.index(), []item.ID{id}, schema.FieldItem)
	if err != nil {
		return nil, err
	}
	if found[id] == nil {
		return nil, library.UnknownItem(id)
	}
	return found[id].Item()
}

// document returns the document of one item with the tags and units that it shows.
func (v *view) document(ctx context.Context, it *item.Item) (*eval.Doc, error) {
	items := []*item.Item{it}
	tags, err := v.shownTags(ctx, items, true)
	if err != nil {
		return nil, err
	}
	shown, err := v.shownUnits(ctx, items)
	if err != nil {
		return nil, err
	}
	var units []item.Unit
	for _, id := range shown[0] {
		if u := v.catalogue.Unit(id); u != nil {
			units = append(units, u.Unit)
		}
	}
	var byDefault *item.Unit
	if v.catalogue.Default != nil {
		byDefault = &v.catalogue.Default.Unit
	}
	return eval.NewItemDoc(it, units, byDefault, tags[0]), nil
}
