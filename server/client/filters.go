package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Filter is a saved query and order (specification, Filter).
type Filter struct {
	ID int64 `json:"id"`
	// UUID identifies the filter in paths, in the same way as ID (extension).
	UUID           string `json:"filter_uuid"`
	Name           string `json:"name"`
	PlatformPageID int64  `json:"platform_page_id"`
	// Query is "" if the caller may list the items but not see the query.
	Query  string `json:"query"`
	SortBy string `json:"sort_by"`
	// IsEditable is false for filters from manifests.
	IsEditable bool `json:"is_editable"`
	// ManagedBy is "ContentFilter namespace/name", or "" for a filter created over HTTP (extension).
	ManagedBy string `json:"managed_by"`
	// ReadAccess is ReadOnly if READ-ONLY tokens can list the items, otherwise None (extension).
	ReadAccess string `json:"read_access"`
	// FavoriteTag is the tag whose items come first, as namespace:key, or "" (extension).
	FavoriteTag string `json:"favorite_tag"`
	// LastModified is the time of the last change of the filter (extension).
	LastModified time.Time `json:"last_modified"`
	// TotalResults is the number of matching items. Only Client.Filter sets it (extension).
	TotalResults int64 `json:"total_results"`
}

// Filters yields every filter of the property by name. It needs a READ-WRITE token.
func (c *Client) Filters(ctx context.Context) iter.Seq2[Filter, error] {
	return listed(ctx, c, "/v2/content/filters", url.Values{"page_size": {"100"}}, func(raw json.RawMessage) ([]Filter, error) {
		var list []Filter
		err := json.Unmarshal(raw, &list)
		return list, err
	})
}

// Filter returns one filter by its UUID or numeric id.
func (c *Client) Filter(ctx context.Context, filter string) (Filter, error) {
	var f Filter
	err := c.do(ctx, call{method: http.MethodGet, path: path("v2", "content", "filters", filter), query: url.Values{"info": {"1"}}}, &f)
	return f, err
}

// CreateFilter saves a query and an order under a name. It needs a READ-WRITE token. CreateFilter does not retry the call if it may have
// taken effect.
func (c *Client) CreateFilter(ctx context.Context, name, query, sortBy string) (Filter, error) {
	var f Filter
	err := c.do(ctx, call{
		method: http.MethodPost, path: "/v2/content/filters",
		body: map[string]string{"name": name, "q": query, "sort_by": sortBy},
	}, &f)
	return f, err
}

// UpdateFilter replaces the query and the order of the filter with the given UUID or numeric id. It needs a READ-WRITE token.
// For a filter from a manifest, it returns a *Problem with status 403.
func (c *Client) UpdateFilter(ctx context.Context, filter, query, sortBy string) error {
	return c.do(ctx, call{
		method: http.MethodPut, path: "/v2/content/filters", query: url.Values{"filter_id": {filter}},
		body: map[string]string{"q": query, "sort_by": sortBy},
	}, nil)
}

// DeleteFilter deletes a filter that was created over HTTP. It needs a READ-WRITE token.
func (c *Client) DeleteFilter(ctx context.Context, filter string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: path("v2", "content", "filters", filter)}, nil)
}
