package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Version is one side of a comparison: a query with an order and a favorite tag, as in a filter.
type Version struct {
	Query string `json:"query"`
	// SortBy is a sort order. "" means created_on:desc.
	SortBy string `json:"sort_by"`
	// FavoriteTag is the tag whose items come first, as namespace:key, or "".
	FavoriteTag string `json:"favorite_tag"`
	// Total is the number of matching items. Only Compare sets it.
	Total int64 `json:"total"`
}

// Change describes a change of a filter, or of the version From, to the version To.
type Change struct {
	// FromFilter is the UUID or numeric id of the filter to change. If it is "", the change starts from From. If From has no query either,
	// every item that To matches is entering.
	FromFilter string
	From, To   Version
	// Size is the maximum number of items in each list, 0 to 500.
	Size int
}

// Comparison is the effect of a Change (extension).
type Comparison struct {
	// Before is the version before the change, or nil if the Change has neither a FromFilter nor a query in From.
	Before *Version `json:"before"`
	After  Version  `json:"after"`
	// Entering are the items that only After matches, in the order of After. Leaving are the items that only Before matches, in the order
	// of Before.
	Entering ComparedItems `json:"entering"`
	Leaving  ComparedItems `json:"leaving"`
	Moving   MovedItems    `json:"moving"`
}

// ComparedItems contains the number of items, and the first of these items.
type ComparedItems struct {
	Total int64  `json:"total"`
	Items []Item `json:"items"`
}

// MovedItems are the items whose positions change among the first Compared items that both versions match. If the order of a version is
// random, the list is empty.
type MovedItems struct {
	Compared int         `json:"compared"`
	Total    int         `json:"total"`
	Items    []MovedItem `json:"items"`
}

// MovedItem is an item with its positions before and after the change. Positions count from 1, and count only items that both versions
// match. nil means a position after MovedItems.Compared.
type MovedItem struct {
	ID   item.ID `json:"id"`
	From *int    `json:"from"`
	To   *int    `json:"to"`
}

// Compare returns the items that a change adds, removes and moves (extension). It needs a READ-WRITE token. If the property does not have
// the filter, the error is a *Problem with status 404. If a query is invalid, the status is 400.
func (c *Client) Compare(ctx context.Context, change Change) (Comparison, error) {
	v := url.Values{"size": {strconv.Itoa(change.Size)}}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("from_filter", change.FromFilter)
	for prefix, of := range map[string]Version{"from_": change.From, "": change.To} {
		set(prefix+"q", of.Query)
		set(prefix+"sort_by", of.SortBy)
		set(prefix+"favorite_tag", of.FavoriteTag)
	}
	var effect Comparison
	err := c.get(ctx, "/v2/content/compare", v, &effect)
	return effect, err
}
