package reference

import (
	"context"
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// view returns the view of a property at the instant now. It fails with ErrNotFound or ErrClosed.
func (l *Library) view(id library.PropertyID, now time.Time) (v *view, err error) {
	err = l.Hold(func() error {
		v, err = l.views.at(id, now)
		return err
	})
	return v, err
}

// listed returns the view of the property r.Property at the time r.Now, and the listing of r.
func (l *Library) listed(r library.Read) (*view, library.Listing, error) {
	if r.Now.IsZero() {
		r.Now = l.Now()
	}
	v, err := l.view(r.Property, r.Now)
	if err != nil {
		return nil, library.Listing{}, err
	}
	listing, err := v.catalogue.Listing(r)
	return v, listing, err
}

// Read returns a page of items (see library.Library).
func (l *Library) Read(ctx context.Context, r library.Read) (*library.Page, error) {
	v, listing, err := l.listed(r)
	if err != nil {
		return nil, err
	}
	places, err := v.find(ctx, listing)
	if err != nil {
		return nil, err
	}
	until, err := v.boundary(listing.Parts...)
	if err != nil {
		return nil, err
	}
	// The rules can select other items at a later time, even if the queries of the listing do not depend on the time.
	until = earlier(until, v.until)
	page := &library.Page{Version: l.PageVersion(v.version, until), Expires: until}
	if r.IfVersion == page.Version {
		return page, library.ErrNotModified
	}
	start := int(min(r.Offset, int64(len(places))))
	if r.After != "" {
		var after eval.Place
		if err := l.Sealer().Open(r.After, listing.Identity, &after); err != nil {
			return nil, err
		}
		start = follows(places, after, listing.Order)
	}
	shown := places[start:]
	if len(shown) > r.Limit {
		if shown = shown[:r.Limit]; r.Limit > 0 {
			if page.Next, err = l.Sealer().Seal(listing.Identity, shown[r.Limit-1]); err != nil {
				return nil, err
			}
		}
	}
	page.Total, page.Count, page.Items = int64(len(places)), len(shown), r.Into
	for i, at := range shown {
		if r.OnlyIDs {
			page.IDs = append(page.IDs, at.ID)
			continue
		}
		if i > 0 {
			page.Items = append(page.Items, ',')
		}
		page.Items = v.appendItem(page.Items, v.records[at.ID], r.Audience, r.BaseURL)
	}
	return page, nil
}

// follows returns the index of the first item after the place in a cursor. In a listing by relevance, follows uses the current place of the
// cursor's item if the item is still listed, because a write may change the scores of all items.
func follows(places []eval.Place, after eval.Place, o query.Order) int {
	if o.Scored() {
		if i := slices.IndexFunc(places, func(p eval.Place) bool { return p.ID == after.ID }); i >= 0 {
			return i + 1
		}
	}
	return sort.Search(len(places), func(i int) bool { return places[i].Compare(after, o) > 0 })
}

// find returns the places of all items in a listing, in order.
func (v *view) find(ctx context.Context, l library.Listing) ([]eval.Place, error) {
	sorter, err := eval.NewSorter(l.Order, func(id int64) int64 { return library.RandomPlace(l.Seed, id) })
	if err != nil {
		return nil, err
	}
	hits, err := v.search(ctx, l.Parts...)
	if err != nil {
		return nil, err
	}
	isRest := func(*eval.Doc) bool { return false }
	if l.Favourite != nil {
		favourites, err := v.search(ctx, library.Part{Query: library.FavouriteTerm(*l.Favourite), Audience: query.Private})
		if err != nil {
			return nil, err
		}
		isRest = func(d *eval.Doc) bool {
			return !slices.ContainsFunc(favourites, func(f eval.Hit) bool { return f.Doc == d })
		}
	}
	places := make([]eval.Place, len(hits))
	for i, h := range hits {
		places[i] = sorter.Place(h)
		places[i].Rest = isRest(h.Doc)
	}
	slices.SortFunc(places, func(a, b eval.Place) int { return a.Compare(b, l.Order) })
	return places, nil
}

// search returns the documents that match all parts of a listing.
func (v *view) search(ctx context.Context, parts ...library.Part) ([]eval.Hit, error) {
	root, err := v.root(parts)
	if err != nil {
		return nil, err
	}
	m, err := v.corpus.Compile(ctx, root)
	if err != nil {
		return nil, err
	}
	return m.Search(ctx)
}

// root returns a plan for the documents that match all parts of a listing.
func (v *view) root(parts []library.Part) (plan.Node, error) {
	return eval.Root(parts, func(part library.Part) (plan.Node, error) { return v.plan(part, v.now) })
}

// appendItem appends one item as its audience sees it.
func (v *view) appendItem(dst []byte, rec *record, a query.Audience, baseURL string) []byte {
	return item.Encode(rec.item).Append(dst, a, v.catalogue.Slots(rec.units, baseURL))
}

// item returns the current view of a property and one item in it. It fails with ErrNotFound or ErrClosed.
func (l *Library) item(p library.PropertyID, id item.ID) (*view, *record, error) {
	v, err := l.view(p, l.Now())
	if err != nil {
		return nil, nil, err
	}
	rec, err := v.record(id)
	return v, rec, err
}

func (v *view) record(id item.ID) (*record, error) {
	rec := v.records[id]
	if rec == nil {
		return nil, library.UnknownItem(id)
	}
	return rec, nil
}

// ReadItem returns one item (see library.Library).
func (l *Library) ReadItem(ctx context.Context, r library.ItemRead) ([]byte, error) {
	v, rec, err := l.item(r.Property, r.ID)
	if err != nil {
		return nil, err
	}
	if r.Scope != nil {
		hits, err := v.search(ctx, r.Scope.Part())
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(hits, func(h eval.Hit) bool { return h.Doc == rec.doc }) {
			return nil, library.UnknownItem(r.ID)
		}
	}
	if r.Digest != nil {
		*r.Digest = rec.item.Digest()
	}
	return v.appendItem(nil, rec, r.Audience, r.BaseURL), nil
}

// ItemTags lists the tags of one item (see library.Library).
func (l *Library) ItemTags(_ context.Context, p library.PropertyID, id item.ID) ([]item.Tag, error) {
	_, rec, err := l.item(p, id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(rec.tags), nil
}

// Explain explains why a listing does or does not contain an item (see library.Library).
func (l *Library) Explain(ctx context.Context, r library.Read, id item.ID) (*library.Explanation, error) {
	v, listing, err := l.listed(r)
	if err != nil {
		return nil, err
	}
	rec, err := v.record(id)
	if err != nil {
		return nil, err
	}
	root, err := v.root(listing.Parts)
	if err != nil {
		return nil, err
	}
	e, err := eval.Explain(ctx, v.corpus, root, rec.doc)
	if err != nil {
		return nil, err
	}
	return &e, nil
}

// Facets counts the values of a field item by item (see library.Library).
func (l *Library) Facets(ctx context.Context, r library.Read, f library.Facet) (*library.Facets, error) {
	counter, field, err := library.NewFacetCounter(f, r.Audience)
	if err != nil {
		return nil, err
	}
	v, listing, err := l.listed(r)
	if err != nil {
		return nil, err
	}
	hits, err := v.search(ctx, listing.Parts...)
	if err != nil {
		return nil, err
	}
	until, err := v.boundary(listing.Parts...)
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for _, h := range hits {
		for value := range h.Doc.Counted(field) {
			counts[value]++
		}
	}
	for value, n := range counts {
		counter.Add(value, n)
	}
	found := counter.Facets(int64(len(hits)))
	found.Expires = earlier(until, v.until)
	return found, nil
}

// Export yields items as lines (see library.Library). All lines come from the same state.
func (l *Library) Export(ctx context.Context, p library.PropertyID, q query.Node) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines, err := l.lines(ctx, p, q)
		for _, line := range lines {
			if err = context.Cause(ctx); err != nil || !yield(line, nil) {
				break
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// lines encodes the items that match q, in the order of ids. Each line has only the item's own tags and units, not those that manifests
// assign.
func (l *Library) lines(ctx context.Context, p library.PropertyID, q query.Node) ([][]byte, error) {
	if q == nil {
		q = query.All{}
	}
	v, listing, err := l.listed(library.Read{Property: p, Audience: query.Private, Query: q, Order: query.Order{{Field: "id"}}})
	if err != nil {
		return nil, err
	}
	places, err := v.find(ctx, listing)
	if err != nil {
		return nil, err
	}
	lines := make([][]byte, len(places))
	for i, at := range places {
		it := v.records[at.ID].item
		lines[i] = item.Marshal(it, v.units(it.Units))
	}
	return lines, nil
}
