package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Version is a query with an order and a favorite tag, as in a filter.
type Version struct {
	Query string `json:"query"`
	// SortBy is an order; "" means created_on:desc.
	SortBy string `json:"sort_by"`
	// FavoriteTag is namespace:key of the tag whose items come first, or "".
	FavoriteTag string `json:"favorite_tag"`
	// Total is the number of matching items. Only Compare sets it.
	Total int64 `json:"total"`
}

// Change is a change of a filter or a query to another version.
type Change struct {
	// FromFilter is the UUID or numeric id of the filter that changes. If it is "", From is the version that changes; if that
	// has no query either, every item enters.
	FromFilter string
	From, To   Version
	// Size is the maximum number of items in each list, 0 to 500.
	Size int
}

// Comparison is the effect of a Change (extension).
type Comparison struct {
	// Before is nil if there is nothing to compare with.
	Before *Version `json:"before"`
	After  Version  `json:"after"`
	// Entering and Leaving are the items that only After or only Before has, in the order of that version.
	Entering ComparedItems `json:"entering"`
	Leaving  ComparedItems `json:"leaving"`
	Moving   MovedItems    `json:"moving"`
}

// ComparedItems are the number of items and the first of them.
type ComparedItems struct {
	Total int64  `json:"total"`
	Items []Item `json:"items"`
}

// MovedItems are the items that change their places among the first Compared items that both versions have. In a random order,
// there are none.
type MovedItems struct {
	Compared int         `json:"compared"`
	Total    int         `json:"total"`
	Items    []MovedItem `json:"items"`
}

// MovedItem is an item with its positions before and after, which count from 1 and only items that both versions have. nil is a
// position after MovedItems.Compared.
type MovedItem struct {
	ID   item.ID `json:"id"`
	From *int    `json:"from"`
	To   *int    `json:"to"`
}

// Compare returns which items a change adds, removes and moves (extension). It needs a READ-WRITE token. A filter that the
// property does not have is a *Problem with status 404, and an invalid query one with status 400.
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
	err := c.do(ctx, call{method: http.MethodGet, path: "/v2/content/compare", query: v}, &effect)
	return effect, err
}
