package client

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
)

// FacetQuery selects the values that Facets counts (extension). Query or Filter is required. If both are set, items must match both.
type FacetQuery struct {
	// Field is a field of type keyword, boolean or long, or "tags" for the tags of all namespaces as namespace:key.
	Field string
	Query string
	// Filter is a filter's UUID or numeric id. It needs a READ-WRITE token.
	Filter string
	// Prefix, if set, omits values that do not begin with it. The comparison ignores case.
	Prefix string
	// Size is the maximum number of values, from 1 to 100. 0 means 10.
	Size int
}

// Facets are the most frequent values of a field (extension).
type Facets struct {
	// Field is the canonical name of the field.
	Field string `json:"field"`
	// Total is the number of matching items, with or without a value.
	Total int64 `json:"total"`
	// Values are the most frequent values in descending order of frequency. Values with the same frequency are in ascending order.
	Values []FacetValue `json:"values"`
}

// FacetValue is a value and the number of matching items that have it.
type FacetValue struct {
	Value string `json:"value"`
	Count int64  `json:"count"`
}

// Facets counts the values of a field among matching items, and returns the most frequent ones with exact counts (extension). If the field
// cannot be counted, the error is a *Problem with status 400.
func (c *Client) Facets(ctx context.Context, q FacetQuery) (Facets, error) {
	v := url.Values{"field": {q.Field}, "size": {strconv.Itoa(cmp.Or(q.Size, 10))}}
	for name, value := range map[string]string{"q": q.Query, "filter": q.Filter, "prefix": q.Prefix} {
		if value != "" {
			v.Set(name, value)
		}
	}
	var found Facets
	err := c.get(ctx, "/v2/content/facets", v, &found)
	return found, err
}
