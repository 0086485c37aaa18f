package client

import (
	"context"
	"encoding/json"
	"iter"
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
