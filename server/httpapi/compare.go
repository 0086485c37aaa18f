package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

const (
	// comparePageSize is the default number of items in each list of a comparison. The maximum is maxItemPageSize.
	comparePageSize = 10
	// comparedPositions is the number of first items whose positions are compared.
	comparedPositions = 100
)

// version is one side of a comparison: a query and an order, as in a filter.
type version struct {
	text      string
	query     query.Node
	order     query.Order
	favourite *item.Tag
}

// versionRecord is a version in a response.
type versionRecord struct {
	Query       string  `json:"query"`
	SortBy      string  `json:"sort_by"`
	FavoriteTag *string `json:"favorite_tag"`
	Total       int64   `json:"total"`
}

func (v *version) record(total int64) *versionRecord {
	return &versionRecord{Query: v.text, SortBy: v.order.String(), FavoriteTag: tagText(v.favourite), Total: total}
}

// someItems are the number of items and the first of them.
type someItems struct {
	Total int64           `json:"total"`
	Items json.RawMessage `json:"items"`
}

// movedItem is an item with its positions from 1 among the items that both versions show; nil is a position after the first
// comparedPositions.
type movedItem struct {
	ID   item.ID `json:"id"`
	From *int    `json:"from"`
	To   *int    `json:"to"`
}

// movedItems are the items that move among the first Compared.
type movedItems struct {
	Compared int         `json:"compared"`
	Total    int         `json:"total"`
	Items    []movedItem `json:"items"`
}

// comparison is the response of compareQueries.
type comparison struct {
	Before   *versionRecord `json:"before,omitempty"`
	After    *versionRecord `json:"after"`
	Entering someItems      `json:"entering"`
	Leaving  someItems      `json:"leaving"`
	Moving   movedItems     `json:"moving"`
	Links    links          `json:"_links"`
}

// compareQueries answers GET /v2/content/compare (extension).
func (s *Server) compareQueries(x *exchange) error {
	size, err := x.number("size", comparePageSize, 0, maxItemPageSize)
	if err != nil {
		return err
	}
	before, err := x.versionBefore()
	if err != nil {
		return err
	}
	if _, err := x.required("q"); err != nil {
		return err
	}
	after, err := x.version("")
	if err != nil {
		return err
	}
	defer x.release()
	var c comparison
	err = x.budgeted(func(ctx context.Context) (err error) {
		c, err = x.compare(ctx, before, after, int(size))
		return err
	})
	if err != nil {
		return err
	}
	c.Links.self = x.linkHere()
	return x.show(marshal(c))
}

// versionBefore returns the version to compare with: a stored filter, a query of the caller, or nil.
func (x *exchange) versionBefore() (*version, error) {
	name, err := x.optional("from_filter")
	if err != nil {
		return nil, err
	}
	if name == "" {
		return x.version("from_")
	}
	if text, err := x.optional("from_q"); err != nil || text != "" {
		return nil, cmp.Or(err, invalid("from_q", "cannot be combined with from_filter"))
	}
	f, err := x.filter(name)
	if err != nil {
		return nil, err
	}
	parsed, err := library.ParseFilter(f.Filter)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", library.ErrUnreadable, err)
	}
	return &version{f.Query, parsed.Query, parsed.Order, parsed.Favourite}, nil
}

// version reads a version from the parameters q, sort_by and favorite_tag, whose names begin with prefix. It returns nil if
// there is no query.
func (x *exchange) version(prefix string) (*version, error) {
	v := &version{}
	var err error
	if v.text, err = x.optional(prefix + "q"); err != nil || v.text == "" {
		return nil, err
	}
	if v.query, err = x.queryParam(prefix + "q"); err != nil {
		return nil, err
	}
	if v.order, err = x.orderParam(prefix + "sort_by"); err != nil {
		return nil, err
	}
	if v.order == nil {
		if v.order, err = query.ParseOrder(library.DefaultOrder); err != nil {
			return nil, err
		}
	}
	v.favourite, err = x.favouriteParam(prefix + "favorite_tag")
	return v, err
}

// compare compares two versions. before can be nil.
func (x *exchange) compare(ctx context.Context, before, after *version, size int) (comparison, error) {
	c := comparison{Leaving: noItems, Moving: movedItems{Compared: comparedPositions, Items: []movedItem{}}}
	if before == nil {
		var err error
		c.Entering, err = x.firstItems(ctx, *after, after.query, size)
		c.After = after.record(c.Entering.Total)
		return c, err
	}
	total, err := x.countItems(ctx, before.query)
	if err != nil {
		return c, err
	}
	c.Before, c.After, c.Entering = before.record(total), after.record(total), noItems
	if !query.Equal(before.query, after.query) {
		if c.Entering, err = x.firstItems(ctx, *after, query.AndNot(after.query, before.query), size); err != nil {
			return c, err
		}
		if c.Leaving, err = x.firstItems(ctx, *before, query.AndNot(before.query, after.query), size); err != nil {
			return c, err
		}
		c.After.Total += c.Entering.Total - c.Leaving.Total
	}
	all, err := x.movedItems(ctx, *before, *after)
	if err != nil {
		return c, err
	}
	c.Moving.Total, c.Moving.Items = len(all), all[:min(len(all), size)]
	return c, nil
}

var noItems = someItems{Items: json.RawMessage("[]")}

// countItems returns the number of items that match a query.
func (x *exchange) countItems(ctx context.Context, q query.Node) (int64, error) {
	page, err := x.server.lib.Read(ctx, library.Read{Property: x.grant.property, Audience: x.audience(), Query: q})
	if err != nil {
		return 0, err
	}
	return page.Total, nil
}

// firstItems counts the items that match q, a restriction of the query of v, and lists the first of them in the order of v.
// Each response would list others in a random order, so the default order of filters replaces it.
func (x *exchange) firstItems(ctx context.Context, v version, q query.Node, n int) (someItems, error) {
	if v.order.Random() {
		v.order = query.Order{{Field: "created_on", Desc: true}}
	}
	page, err := x.server.lib.Read(ctx, library.Read{
		Property: x.grant.property, Audience: x.audience(), BaseURL: x.baseURL(), Query: q, Order: v.order, Favourite: v.favourite,
		Limit: n, Room: x.reserve,
	})
	if err != nil {
		return someItems{}, err
	}
	return someItems{page.Total, append(append([]byte{'['}, page.Items...), ']')}, nil
}

// movedItems compares the order of the first items that both versions show. In a random order, no item has a position.
func (x *exchange) movedItems(ctx context.Context, before, after version) ([]movedItem, error) {
	random := before.order.Random() || after.order.Random()
	same := before.order.String() == after.order.String() && sameTag(before.favourite, after.favourite)
	if random || same && (!after.order.Scored() || query.Equal(before.query, after.query)) {
		return []movedItem{}, nil
	}
	// Neither query affects the scores of the other.
	was, err := x.firstIDs(ctx, before, query.AndNot(before.query, query.AndNot(query.All{}, after.query)))
	if err != nil {
		return nil, err
	}
	is, err := x.firstIDs(ctx, after, query.AndNot(after.query, query.AndNot(query.All{}, before.query)))
	if err != nil {
		return nil, err
	}
	return movedBetween(was, is), nil
}

// firstIDs returns the ids of the first items in the order of v that match q.
func (x *exchange) firstIDs(ctx context.Context, v version, q query.Node) ([]item.ID, error) {
	some, err := x.firstItems(ctx, v, q, comparedPositions)
	if err != nil {
		return nil, err
	}
	var items []struct {
		ID item.ID `json:"id"`
	}
	if err := json.Unmarshal(some.Items, &items); err != nil {
		return nil, fmt.Errorf("read the ids of a page: %w", err)
	}
	ids := make([]item.ID, len(items))
	for i, it := range items {
		ids[i] = it.ID
	}
	return ids, nil
}

// movedBetween compares the beginnings of two orders of the same items. It returns the fewest items that must move to turn
// one order into the other, in the second order: those outside of a longest sequence that both orders have in common.
func movedBetween(was, is []item.ID) []movedItem {
	// The positions in the first order. An item that only the second one begins with follows, so that an item that another one
	// displaces from the beginning of an order has not moved.
	from := make(map[item.ID]int, len(was)+len(is))
	for i, id := range was {
		from[id] = i
	}
	to := make(map[item.ID]int, len(is))
	for i, id := range is {
		to[id] = i
		if _, ok := from[id]; !ok {
			from[id] = len(was) + i
		}
	}
	both := append([]item.ID{}, is...)
	for _, id := range was {
		if _, ok := to[id]; !ok {
			both = append(both, id)
		}
	}
	stays := longestRise(both, from)
	moved := []movedItem{}
	for i, id := range both {
		if stays[i] {
			continue
		}
		m := movedItem{ID: id}
		if at := from[id] + 1; at <= len(was) {
			m.From = &at
		}
		if i < len(is) {
			m.To = new(i + 1)
		}
		moved = append(moved, m)
	}
	return moved
}

// longestRise marks a longest subsequence of ids with ascending places. It takes quadratic time.
func longestRise(ids []item.ID, place map[item.ID]int) []bool {
	length, previous := make([]int, len(ids)), make([]int, len(ids))
	last := -1
	for i, id := range ids {
		length[i], previous[i] = 1, -1
		for j := range i {
			if place[ids[j]] < place[id] && length[j] >= length[i] {
				length[i], previous[i] = length[j]+1, j
			}
		}
		if last < 0 || length[i] > length[last] {
			last = i
		}
	}
	on := make([]bool, len(ids))
	for i := last; i >= 0; i = previous[i] {
		on[i] = true
	}
	return on
}

// sameTag reports whether two optional tags are equal.
func sameTag(a, b *item.Tag) bool { return a == b || a != nil && b != nil && *a == *b }

// tagText returns a tag as namespace:key, nil for none.
func tagText(t *item.Tag) *string {
	if t == nil {
		return nil
	}
	return new(t.Namespace + ":" + t.Key)
}
