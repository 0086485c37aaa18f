package httpapi

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/problems"
	"github.com/vitrine-dev/vitrine/server/query"
)

const (
	// filterPageSize and maxFilterPageSize are the page sizes of the list of filters (specification, Limits). The specification does not
	// set the default.
	filterPageSize    = 50
	maxFilterPageSize = 100
	// maxFilterName and maxSort are the maximum lengths of a filter's name and of its order, in bytes.
	maxFilterName = 200
	maxSort       = 4 << 10
	// maxQueryText is the maximum length of a query in a body, in bytes. It exceeds the limit of the query language, so that a query over
	// that limit gets the more precise error of the parser.
	maxQueryText = 64 << 10
)

// filterRecord is a filter in a list of filters (specification, Filter).
type filterRecord struct {
	ID             int64  `json:"id"`
	FilterUUID     string `json:"filter_uuid"`
	Name           string `json:"name"`
	PlatformPageID int64  `json:"platform_page_id"`
	// Query is omitted for READ-ONLY callers. It is also omitted for other callers who may not read private fields, if it uses one.
	Query string `json:"query,omitempty"`
	// SortBy is omitted for callers who may not read private fields, if it uses one.
	SortBy     string `json:"sort_by,omitempty"`
	IsEditable bool   `json:"is_editable"`
	// ManagedBy is the manifest that declares the filter, or nil if there is none.
	ManagedBy *string `json:"managed_by"`
	// ReadAccess is ReadOnly or None, as in a ContentFilter.
	ReadAccess string `json:"read_access"`
	// FavoriteTag is namespace:key, or nil if there is none.
	FavoriteTag  *string `json:"favorite_tag"`
	LastModified string  `json:"last_modified"`
}

func (x *exchange) filterRecord(f library.FilterRecord) filterRecord {
	r := filterRecord{
		ID: f.ID, FilterUUID: f.UUID, Name: f.Name, PlatformPageID: f.PlatformPageID,
		Query: f.Query, SortBy: cmp.Or(f.Order, library.DefaultOrder), IsEditable: f.Owner.IsHTTP(),
		ReadAccess: "None", FavoriteTag: tagText(f.Favourite), LastModified: f.Changed.UTC().Format(time.RFC3339),
	}
	if !f.Owner.IsHTTP() {
		r.ManagedBy = new(x.shownOwner(f.Owner).String())
	}
	if f.Public {
		r.ReadAccess = "ReadOnly"
	}
	r.Query = x.shownQuery(r.Query)
	if x.audience() == query.Public {
		if order, err := query.ParseOrder(r.SortBy); err != nil || query.CheckOrder(order, query.Public) != nil {
			r.SortBy = ""
		}
	}
	return r
}

// shownQuery returns a stored query, or "" if the caller may not see it.
func (x *exchange) shownQuery(stored string) string {
	if x.audience() == query.Private {
		return stored
	}
	if _, err := query.ParseFor(stored, query.Public); !x.grant.rights.ReadWrite || err != nil {
		return ""
	}
	return stored
}

// filterLocation returns the URL of a filter (specification: /v2/content/filters/<filter_id>).
func (x *exchange) filterLocation(id int64) string {
	return x.linkTo("/v2/content/filters/" + strconv.FormatInt(id, 10))
}

// createFilter answers POST /v2/content/filters (specification, Content filters).
func (s *Server) createFilter(x *exchange) error {
	body, err := x.members()
	if err != nil {
		return err
	}
	f, err := x.filterBody(body)
	if err != nil {
		return err
	}
	if f.Name, err = body.text("name", maxFilterName); err != nil {
		return err
	}
	for {
		if f.UUID, f.ID, err = library.NewFilterIDs(s.options.Rand); err != nil {
			return err
		}
		err := x.storeFilter(f)
		if taken := (*library.IDTakenError)(nil); errors.As(err, &taken) {
			continue // another filter has the id: one chance in 2^53 for each existing filter
		}
		if err != nil {
			return err
		}
		break
	}
	stored, err := s.lib.Filter(x.grant.property, library.FilterRef{UUID: f.UUID})
	if err != nil {
		return fmt.Errorf("read back a filter: %w", err)
	}
	return x.doneFilter(http.StatusCreated, stored, marshal(x.filterRecord(stored)))
}

// filterBody reads the members that POST and PUT share. It checks the query and the order with the rights of the caller, so that a filter
// cannot reveal private fields to a caller who may not read them.
func (x *exchange) filterBody(body object) (library.Filter, error) {
	var f library.Filter
	var err error
	if f.Query, err = body.text("q", maxQueryText); err != nil {
		return f, err
	}
	if _, err = x.query(f.Query); err != nil {
		return f, inMember(err, "q")
	}
	if f.Order, err = body.text("sort_by", maxSort); err != nil {
		return f, err
	}
	if _, err = query.ParseOrderFor(f.Order, x.audience()); err != nil {
		return f, inMember(err, "sort_by")
	}
	return f, nil
}

func (x *exchange) storeFilter(f library.Filter) error {
	results, err := x.server.lib.Apply(x.r.Context(), []library.Definition{{Property: x.grant.property, Filter: &f}})
	if err != nil {
		return err
	}
	return results[0].Err
}

// listFilters answers GET /v2/content/filters. Pages are numbered, as the specification requires, but the next link uses a cursor.
func (s *Server) listFilters(x *exchange) error {
	at, err := x.pagingParams(filterPageSize, maxFilterPageSize)
	if err != nil {
		return err
	}
	var filters []library.FilterRecord
	var total int
	if at.cursor == "" {
		// The library counts with int. No list is longer than this limit.
		offset := int(min((at.page-1)*at.size, 1<<31-1))
		filters, total, err = s.lib.Filters(x.grant.property, offset, int(at.size)+1)
	} else {
		filters, total, err = s.filtersAfter(x.grant.property, at.cursor, int(at.size)+1)
	}
	if err != nil {
		return err
	}
	var next library.Cursor
	if int64(len(filters)) > at.size {
		filters = filters[:at.size]
		next = filterCursor(filters[at.size-1])
	}
	records := make([]filterRecord, len(filters))
	for i, f := range filters {
		records[i] = x.filterRecord(f)
	}
	to := x.pageLinks(at.page, next, "")
	to.announce(x)
	return x.show(marshal(struct {
		Total    int            `json:"total_results"`
		Embedded []filterRecord `json:"_embeded"` // the specification spells it with one d
		Links    links          `json:"_links"`
	}{total, records, to}))
}

// filterPlace is the content of a cursor in the list of filters: the place of the last filter on the page.
type filterPlace struct {
	Name string `json:"filter_name"`
	ID   int64  `json:"id"`
}

func filterCursor(f library.FilterRecord) library.Cursor {
	return library.Cursor("filters." + base64.RawURLEncoding.EncodeToString(marshal(filterPlace{f.Name, f.ID})))
}

// filtersAfter lists at most limit filters after a cursor. It also returns the total number of filters.
func (s *Server) filtersAfter(p library.PropertyID, c library.Cursor, limit int) ([]library.FilterRecord, int, error) {
	encoded, ok := strings.CutPrefix(string(c), "filters.")
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	var after filterPlace
	if !ok || err != nil || json.Unmarshal(text, &after) != nil {
		return nil, 0, &library.CursorError{Reason: "it does not belong to this listing: start again from the first page"}
	}
	return s.lib.FiltersAfter(p, library.FilterPlace(after), limit)
}

// updateFilter answers PUT /v2/content/filters.
func (s *Server) updateFilter(x *exchange) error {
	id, err := x.required("filter_id")
	if err != nil {
		return err
	}
	body, err := x.members()
	if err != nil {
		return err
	}
	f, err := x.filterBody(body)
	if err != nil {
		return err
	}
	stored, err := x.editFilter(id, func(now library.FilterRecord) *library.Filter {
		next := now.Filter
		next.Query, next.Order = f.Query, f.Order
		return &next
	})
	if err != nil {
		return err
	}
	return x.doneFilter(http.StatusNoContent, stored, nil)
}

// editFilter replaces a filter with the result of next, or deletes it if the result is nil, if the filter meets the conditions of the
// request.
func (x *exchange) editFilter(name string, next func(library.FilterRecord) *library.Filter) (library.FilterRecord, error) {
	c, err := x.conditions()
	if err != nil {
		return library.FilterRecord{}, err
	}
	edit := func(now library.FilterRecord) (*library.Filter, error) {
		if err := c.check(x.filterTag(now), now.Changed); err != nil {
			return nil, err
		}
		return next(now), nil
	}
	stored, err := x.server.lib.EditFilter(x.r.Context(), x.grant.property, filterRef(name), edit)
	if errors.Is(err, library.ErrNotFound) {
		return stored, noFilter()
	}
	return stored, err
}

// filterTag returns the ETag of a filter without quotes. It does not depend on the items that the filter matches.
func (x *exchange) filterTag(f library.FilterRecord) string {
	return bodyTag(marshal(x.filterRecord(f)))
}

// doneFilter answers a request that creates or changes a filter.
func (x *exchange) doneFilter(status int, f library.FilterRecord, body []byte) error {
	x.Header().Set("Location", x.filterLocation(f.ID))
	x.set("Etag", quoteTag(x.filterTag(f), false))
	return x.done(status, body)
}

// deleteFilter answers DELETE /v2/content/filters/{filter_uuid}.
func (s *Server) deleteFilter(x *exchange) error {
	_, err := x.editFilter(x.r.PathValue("filter_uuid"), func(library.FilterRecord) *library.Filter { return nil })
	if err != nil {
		return err
	}
	return x.done(http.StatusNoContent, nil)
}

func noFilter() error { return absent("no filter of this property has this id") }

// filter finds a filter by its UUID or its numeric id.
func (x *exchange) filter(name string) (library.FilterRecord, error) {
	f, err := x.server.lib.Filter(x.grant.property, filterRef(name))
	if errors.Is(err, library.ErrNotFound) {
		return f, noFilter()
	}
	return f, err
}

// readableFilter finds a filter by its UUID or its numeric id, and checks that the token may list it. A READ-ONLY token may list only filters with public
// read access. A restricted token may list only those of its filters that have public read access.
func (x *exchange) readableFilter(name string) (library.FilterRecord, error) {
	f, err := x.filter(name)
	switch {
	case x.grant.restricted() && (err != nil || !x.grant.filters[f.UUID]):
		return f, x.needsAllItems()
	case err != nil || x.grant.rights.ReadWrite:
		return f, err
	case !f.Public:
		return f, &problem{Type: problems.ClassRefused, Detail: "this operation needs a READ-WRITE token, because the readAccess of the filter is not ReadOnly"}
	}
	return f, nil
}

// listFilterItems answers GET /v2/content/filters/{filter_uuid}.
func (s *Server) listFilterItems(x *exchange) error {
	f, err := x.readableFilter(x.r.PathValue("filter_uuid"))
	if err != nil {
		return err
	}
	x.shown.filter = f.UUID
	l := listing{name: itemMember, defaultSize: itemPageSize, maxSize: maxItemPageSize}
	l.read.Filter = &library.FilterRef{UUID: f.UUID}
	if l.read.Where, err = x.queryParam("additional_query"); err != nil {
		return err
	}
	if err := x.presentation(&l.read); err != nil {
		return err
	}
	info, err := x.flag("info")
	if err != nil {
		return err
	}
	if info {
		return x.describeFilter(f)
	}
	l.adHoc = l.read.Where != nil
	order := l.read.Order
	if order == nil && strings.Contains(f.Order, query.RandomKey) {
		// The order was parsed before it was stored, so this error is unexpected. It must not quote the order, which may be private.
		if order, err = query.ParseOrder(f.Order); err != nil {
			return errors.New("the order of a stored filter does not parse")
		}
	}
	l.random = order.Random()
	return x.list(l)
}

// describeFilter answers a request with info=1. It sends the filter instead of its items.
func (x *exchange) describeFilter(f library.FilterRecord) error {
	r := x.seen(library.Read{Filter: &library.FilterRef{UUID: f.UUID}})
	page, err := x.server.lib.Read(x.r.Context(), r)
	if err != nil {
		return hideStored(err, r)
	}
	body := marshal(struct {
		filterRecord
		Total int64 `json:"total_results"`
	}{x.filterRecord(f), page.Total})
	return x.showTagged(body, x.filterTag(f)+":"+strconv.FormatInt(page.Total, 10), freshness{})
}
