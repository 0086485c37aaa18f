package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

const (
	// comparePageSize is the default number of items in each list of a comparison. maxItemPageSize is the maximum.
	comparePageSize = 10
	// comparedPositions is the number of items whose positions are compared, from the start of the list of each version.
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

// movedItem is an item with its positions in both versions. Positions count from 1, and count only items that both versions match. nil
// means a position after the first comparedPositions.
type movedItem struct {
	ID   item.ID `json:"id"`
	From *int    `json:"from"`
	To   *int    `json:"to"`
}

// movedItems lists the items that move among the first Compared items.
type movedItems struct {
	Compared int         `json:"compared"`
	Total    int         `json:"total"`
	Items    []movedItem `json:"items"`
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
	buffer := s.scratch.get()
	body := (*buffer)[:0]
	defer func() { s.scratch.put(buffer, body) }()
	c := comparison{x: x, now: s.options.Clock(), before: before, after: after, size: int(size)}
	err = x.budgeted(func(ctx context.Context) (err error) {
		body, err = c.append(ctx, body)
		return err
	})
	if err != nil {
		return err
	}
	return x.show(body)
}

// versionBefore returns the version to compare with: a stored filter, a query of the caller, or nil if the caller names neither.
func (x *exchange) versionBefore() (*version, error) {
	name, err := x.optional("from_filter")
	if err != nil {
		return nil, err
	}
	if name == "" {
		return x.version("from_")
	}
	for _, param := range []string{"from_q", "from_sort_by", "from_favorite_tag"} {
		if text, err := x.optional(param); err != nil || text != "" {
			return nil, cmp.Or(err, invalid(param, `cannot be combined with "from_filter": omit one of them`))
		}
	}
	f, err := x.filter(name)
	if err != nil {
		return nil, err
	}
	parsed, err := x.shownFilter(f.Filter)
	if err != nil {
		return nil, err
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

// comparison is a comparison of two versions.
type comparison struct {
	x *exchange
	// now is the value of `now` in all queries.
	now time.Time
	// before is the version to compare with, or nil if the caller names none. after is the other version.
	before, after *version
	// size is the maximum number of items in each list.
	size int
}

// append appends the body of the response to body.
func (c *comparison) append(ctx context.Context, body []byte) ([]byte, error) {
	versions, err := c.versions(ctx)
	if err != nil {
		return body, err
	}
	entering := func(total int64) []byte {
		return fmt.Appendf(versions(total), `,"entering":{"total":%d,"items":[`, total)
	}
	if body, err = c.appendMissing(ctx, body, c.after, c.before, entering); err != nil {
		return body, err
	}
	leaving := func(total int64) []byte { return fmt.Appendf(nil, `,"leaving":{"total":%d,"items":[`, total) }
	if body, err = c.appendMissing(ctx, body, c.before, c.after, leaving); err != nil {
		return body, err
	}
	moved, err := c.movedItems(ctx)
	if err != nil {
		return body, err
	}
	body = append(body, `,"moving":`...)
	body = append(body, marshal(movedItems{comparedPositions, len(moved), moved[:min(len(moved), c.size)]})...)
	body = append(body, `,"_links":`...)
	return append(links{self: c.x.linkHere()}.append(body), '}'), nil
}

// read reads items of a version. If where is not nil, it reads only the items that also match where.
func (c *comparison) read(ctx context.Context, v *version, where query.Node, r library.Read) (*library.Page, error) {
	r = c.x.seen(r)
	r.Now = c.now
	r.Query, r.Where, r.Order, r.Favourite = v.query, where, v.order, v.favourite
	return c.x.server.lib.Read(ctx, r)
}

// versions counts the items of both versions, and returns a function that formats the beginning of the response. If there is no version to
// compare with, all items are entering. In that case, versions counts nothing, and the function uses the total of the entering items.
func (c *comparison) versions(ctx context.Context) (func(entering int64) []byte, error) {
	if c.before == nil {
		return func(entering int64) []byte { return fmt.Appendf(nil, `{"after":%s`, marshal(c.after.record(entering))) }, nil
	}
	after, err := c.count(ctx, c.after)
	if err != nil {
		return nil, err
	}
	before := after
	if !sameQuery(c.before.query, c.after.query) {
		if before, err = c.count(ctx, c.before); err != nil {
			return nil, err
		}
	}
	return func(int64) []byte {
		return fmt.Appendf(nil, `{"before":%s,"after":%s`, marshal(c.before.record(before)), marshal(c.after.record(after)))
	}, nil
}

// count returns the number of items of a version.
func (c *comparison) count(ctx context.Context, v *version) (int64, error) {
	page, err := c.read(ctx, v, nil, library.Read{})
	if err != nil {
		return 0, err
	}
	return page.Total, nil
}

// sameQuery reports whether two queries are equal. A missing query equals only another one.
func sameQuery(a, b query.Node) bool {
	return a == nil && b == nil || a != nil && b != nil && a.String() == b.String()
}

// appendMissing appends the list of items that v matches and other does not. The list consists of the output of head, which gets the number
// of these items, the first of these items in the order of v, and the end of the list. Both versions can be nil. If the order of v is
// random, appendMissing uses the default order of filters, so that each response lists the same items.
func (c *comparison) appendMissing(ctx context.Context, body []byte, v, other *version, head func(total int64) []byte) ([]byte, error) {
	if v == nil || other != nil && sameQuery(v.query, other.query) {
		return append(append(body, head(0)...), "]}"...), nil
	}
	shown := *v
	if v.order.Random() {
		shown.order = query.Order{{Field: "created_on", Desc: true}}
	}
	var where query.Node
	if other != nil {
		where = query.Not(other.query)
	}
	start, room := len(body), len(head(math.MaxInt64))
	into := append(body, make([]byte, room)...)
	page, err := c.read(ctx, &shown, where, library.Read{
		Limit: c.size, Into: into, Room: func(bytes int) error { return c.x.reserve("size", bytes) },
	})
	if err != nil {
		return body, err
	}
	read := append(page.Items[:start], head(page.Total)...)
	return append(slices.Delete(page.Items, len(read), start+room), "]}"...), nil
}

// movedItems compares the order of the first items that both versions match. If an order is random, items have no positions, and the result
// is empty.
func (c *comparison) movedItems(ctx context.Context) ([]movedItem, error) {
	before, after := c.before, c.after
	if before == nil || before.order.Random() || after.order.Random() {
		return []movedItem{}, nil
	}
	same := before.order.String() == after.order.String() && sameTag(before.favourite, after.favourite)
	if same && (!after.order.Scored() || sameQuery(before.query, after.query)) {
		return []movedItem{}, nil
	}
	was, err := c.firstIDs(ctx, before, after)
	if err != nil {
		return nil, err
	}
	is, err := c.firstIDs(ctx, after, before)
	if err != nil {
		return nil, err
	}
	return movedBetween(was, is), nil
}

// firstIDs returns the ids of the first items that both versions match, in the order of v. The query of other only restricts the items, and
// does not affect their scores.
func (c *comparison) firstIDs(ctx context.Context, v, other *version) ([]item.ID, error) {
	page, err := c.read(ctx, v, query.Not(query.Not(other.query)), library.Read{Limit: comparedPositions, OnlyIDs: true})
	if err != nil {
		return nil, err
	}
	return page.IDs, nil
}

// movedBetween compares the beginnings of two orders of the same items. It returns a smallest set of items that must move to turn the first
// order into the second: those outside a longest common subsequence. The result is in the second order, followed by the items that occur
// only in the beginning of the first order.
func movedBetween(was, is []item.ID) []movedItem {
	// from contains the positions in the first order. Items that occur only in the beginning of the second order get the positions after
	// these. As a result, an item does not count as moved if another item merely displaces it from the beginning of an order.
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

// tagText returns a tag as namespace:key, or nil if t is nil.
func tagText(t *item.Tag) *string {
	if t == nil {
		return nil
	}
	return new(t.Namespace + ":" + t.Key)
}
