package client

import (
	"context"
	"net/url"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Explanation says whether an item matches a clause and its subclauses (extension).
type Explanation struct {
	Clause string `json:"clause"`
	// Occur is "must", "should", "must not", or "" at the root.
	Occur   string `json:"occur"`
	Matched bool   `json:"matched"`
	// Score is the clause's contribution to the relevance of the item.
	Score float64 `json:"score"`
	// Detail describes the values that were compared.
	Detail   string        `json:"detail"`
	Children []Explanation `json:"children"`
}

// ExplainFilter explains why an item does or does not match a filter (extension). filter is its UUID or numeric id. ExplainFilter needs a
// READ-WRITE token. If the property does not have the filter or the item, the error is a *Problem with status 404.
func (c *Client) ExplainFilter(ctx context.Context, filter string, id item.ID) (Explanation, error) {
	var answer struct {
		Explanation Explanation `json:"explanation"`
	}
	err := c.get(ctx, path("v2", "content", "filters", filter, "explain"), url.Values{"ugc_id": {number(id)}}, &answer)
	return answer.Explanation, err
}
