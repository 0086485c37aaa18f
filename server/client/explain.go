package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Explanation says whether an item matches a clause and its subclauses (extension).
type Explanation struct {
	Clause string `json:"clause"`
	// Occur is "must", "should" or "must not"; "" at the root.
	Occur   string `json:"occur"`
	Matched bool   `json:"matched"`
	// Score is the clause's contribution to the relevance.
	Score float64 `json:"score"`
	// Detail describes what was compared.
	Detail   string        `json:"detail"`
	Children []Explanation `json:"children"`
}

// ExplainFilter explains why an item does or does not match a filter (extension). The filter is named by its UUID or numeric id. It needs a
// READ-WRITE token. An id that the property does not have is a *Problem with status 404.
func (c *Client) ExplainFilter(ctx context.Context, filter string, id item.ID) (Explanation, error) {
	var answer struct {
		Explanation Explanation `json:"explanation"`
	}
	err := c.do(ctx, call{
		method: http.MethodGet, path: path("v2", "content", "filters", filter, "explain"), query: url.Values{"ugc_id": {number(id)}},
	}, &answer)
	return answer.Explanation, err
}
