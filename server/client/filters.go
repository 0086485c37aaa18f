package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
)

// Filter is a saved query and order (specification, Filter).
type Filter struct {
	ID int64 `json:"id"`
	// UUID is the other name of the filter in paths (extension).
	UUID           string `json:"filter_uuid"`
	Name           string `json:"name"`
	PlatformPageID int64  `json:"platform_page_id"`
	// Query is "" where the caller may list the items but not see the criteria.
	Query  string `json:"query"`
	SortBy string `json:"sort_by"`
	// IsEditable is false for filters that a manifest brings.
	IsEditable bool `json:"is_editable"`
	// TotalResults and ManagedBy are answered by Filter alone: how many items match, and "ContentFilter namespace/name" or
	// "" (extensions).
	TotalResults int64  `json:"total_results"`
	ManagedBy    string `json:"managed_by"`
}

// Filters yields every filter of the property, by name. READ-WRITE.
func (c *Client) Filters(ctx context.Context) iter.Seq2[Filter, error] {
	return listed(ctx, c, "/v2/content/filters", url.Values{"page_size": {"100"}}, func(raw json.RawMessage) ([]Filter, error) {
		var list []Filter
		err := json.Unmarshal(raw, &list)
		return list, err
	})
}

// Filter returns one filter, named by its UUID or its numeric id.
func (c *Client) Filter(ctx context.Context, filter string) (Filter, error) {
	var f Filter
	err := c.do(ctx, call{method: http.MethodGet, path: path("v2", "content", "filters", filter), query: url.Values{"info": {"1"}}}, &f)
	return f, err
}

// CreateFilter saves a query and an order under a name. READ-WRITE. It is sent once.
func (c *Client) CreateFilter(ctx context.Context, name, query, sortBy string) (Filter, error) {
	var f Filter
	err := c.do(ctx, call{
		method: http.MethodPost, path: "/v2/content/filters",
		body: map[string]string{"name": name, "q": query, "sort_by": sortBy},
	}, &f)
	return f, err
}

// UpdateFilter gives a filter, named by its UUID or its numeric id, another query and order. READ-WRITE. A filter that a
// manifest brings is a *Problem with status 403.
func (c *Client) UpdateFilter(ctx context.Context, filter, query, sortBy string) error {
	return c.do(ctx, call{
		method: http.MethodPut, path: "/v2/content/filters", query: url.Values{"filter_id": {filter}},
		body: map[string]string{"q": query, "sort_by": sortBy},
	}, nil)
}

// DeleteFilter removes a filter that was made over HTTP. READ-WRITE.
func (c *Client) DeleteFilter(ctx context.Context, filter string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: path("v2", "content", "filters", filter)}, nil)
}
