package opensearch

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/opensearch/translate"
	"github.com/vitrine-dev/vitrine/server/query"
)

// listed is a listing that is ready to be searched. It has one section, or two consecutive sections if items with the favorite tag come
// first.
type listed struct {
	*view
	sealer   *library.Sealer
	listing  library.Listing
	order    translate.Order
	sections []object
	// onlyIDs omits the documents of the hits.
	onlyIDs bool
}

// listed translates the order and the sections of a listing for OpenSearch.
func (v *view) listed(ctx context.Context, sealer *library.Sealer, listing library.Listing) (*listed, error) {
	root, err := v.root(ctx, listing)
	if err != nil {
		return nil, err
	}
	s := &listed{view: v, sealer: sealer, listing: listing}
	var ranks object
	if s.order, ranks, err = v.queries.Order(ctx, listing.Order, listing.Seed); err != nil {
		return nil, err
	}
	matching, err := v.queries.Query(ctx, root)
	if err != nil {
		return nil, err
	}
	section := func(filter, mustNot []object) object {
		group := object{"must_not": mustNot}
		switch {
		case listing.Order.Scored():
			group["must"], group["filter"] = matching, filter
		case ranks != nil:
			group["must"], group["filter"] = ranks, append(filter, matching)
		default:
			group["filter"] = append(filter, matching)
		}
		return object{"bool": group}
	}
	if listing.Favourite == nil {
		s.sections = []object{section([]object{}, []object{})}
		return s, nil
	}
	term, err := v.plan(ctx, library.Part{Query: library.FavouriteTerm(*listing.Favourite), Audience: query.Private}, v.now)
	if err != nil {
		return nil, err
	}
	favourite, err := v.queries.Query(ctx, term)
	if err != nil {
		return nil, err
	}
	s.sections = []object{section([]object{favourite}, []object{}), section([]object{}, []object{favourite})}
	return s, nil
}

// hit is an item that a search found.
type hit struct {
	indices.Stored
	place eval.Place
}

// result is a part of a listing.
type result struct {
	hits  []hit
	total int64
	// more is true if another item follows the last hit.
	more bool
}

// page finds the page that a read requests.
func (s *listed) page(ctx context.Context, r library.Read) (*result, error) {
	if r.After == "" {
		return s.collect(ctx, 0, nil, r.Offset, r.Limit)
	}
	var after eval.Place
	if err := s.sealer.Open(r.After, s.listing.Identity, &after); err != nil {
		return nil, err
	}
	if s.listing.Order.Scored() {
		// A write may have changed the score of any item, so the page starts after the current place of the item in the cursor. That place is
		// valid only in the same state of the index.
		release, err := s.freeze(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
		now, err := s.find(ctx, after.ID)
		if err != nil {
			return nil, err
		}
		if now != nil {
			after = *now
		}
	}
	values, err := s.order.After(after)
	if err != nil {
		return nil, err
	}
	first := 0
	if after.Rest && len(s.sections) > 1 {
		first = 1
	}
	return s.collect(ctx, first, values, 0, r.Limit)
}

// collect finds at most limit items and counts all items of the listing. It starts at an offset, or after a place in the section `first`.
func (s *listed) collect(ctx context.Context, first int, after []any, offset int64, limit int) (*result, error) {
	found := &result{}
	for i := range s.sections {
		size := 0
		if limit > 0 && i >= first {
			size = limit + 1 - len(found.hits)
		}
		if i > first {
			after = nil
		}
		part, err := s.section(ctx, i, after, offset, size)
		if err != nil {
			return nil, err
		}
		found.total += part.total
		found.hits = append(found.hits, part.hits...)
		found.more = found.more || part.more
		offset = max(0, offset-part.total)
	}
	if len(found.hits) > limit {
		found.hits, found.more = found.hits[:limit], true
	}
	return found, nil
}

// section finds at most size items of a section, starting at an offset or after a place. Beyond the window, it returns an
// *library.OffsetError, unless no item follows the offset.
func (s *listed) section(ctx context.Context, i int, after []any, offset int64, size int) (*result, error) {
	window := int64(s.options.window)
	switch end := offset + int64(size); {
	case end <= window:
		return s.search(ctx, i, after, int(offset), size)
	case end == window+1 && size > 1:
		// Beyond the window is only the item that shows whether another page follows. The total shows the same.
		part, err := s.search(ctx, i, after, int(offset), size-1)
		if err == nil {
			part.more = part.total >= end
		}
		return part, err
	}
	counted, err := s.search(ctx, i, nil, 0, 0)
	if err == nil && offset < counted.total {
		return nil, &library.OffsetError{Limit: window}
	}
	return counted, err
}

// answerHit is a hit of a search for items.
type answerHit struct {
	cluster.Version
	ID     schema.Number        `json:"_id"`
	Fields indices.StoredFields `json:"fields"`
	Sort   []schema.SortValue   `json:"sort"`
}

// stored returns the document of the hit.
func (h *answerHit) stored() indices.Stored {
	return indices.Stored{Version: h.Version, ID: item.ID(h.ID), Fields: h.Fields}
}

// search sends one search of a section.
func (s *listed) search(ctx context.Context, i int, after []any, from, size int) (*result, error) {
	body := object{
		"query": s.sections[i], "size": size, "track_total_hits": true, "stored_fields": []string{schema.FieldItem},
		"seq_no_primary_term": true,
	}
	if size > 0 {
		body["sort"] = s.order.Sorts()
	}
	if s.onlyIDs {
		body["stored_fields"] = "_none_" // the sort values contain the id
	}
	switch {
	case size == 0:
	case after != nil:
		body["search_after"] = after
	case from > 0:
		body["from"] = from
	}
	var found cluster.CountedOf[answerHit]
	if err := s.view.search(ctx, body, &found); err != nil {
		return nil, err
	}
	out, err := s.read(found.Hits.Hits, i)
	if err == nil {
		out.total = found.Hits.Total.Value
	}
	return out, err
}

// read returns the hits of a response.
func (s *listed) read(found []answerHit, section int) (*result, error) {
	out := &result{hits: make([]hit, len(found))}
	for k, h := range found {
		place, err := s.order.Place(h.Sort, section > 0)
		if err != nil {
			return nil, err
		}
		out.hits[k] = hit{h.stored(), place}
	}
	return out, nil
}

// find returns the place of an item in the listing, or nil if the item is not listed.
func (s *listed) find(ctx context.Context, id item.ID) (*eval.Place, error) {
	for i, section := range s.sections {
		// The place consists of the sort values, so the document is not necessary.
		body := object{
			"query": object{"bool": object{"must": section, "filter": object{"term": object{"id": id}}}},
			"size":  1, "track_total_hits": false, "stored_fields": "_none_", "sort": s.order.Sorts(),
		}
		var found cluster.HitsOf[answerHit]
		if err := s.view.search(ctx, body, &found); err != nil {
			return nil, err
		}
		part, err := s.read(found.Hits.Hits, i)
		if err != nil {
			return nil, err
		}
		if len(part.hits) > 0 {
			return &part.hits[0].place, nil
		}
	}
	return nil, nil
}
