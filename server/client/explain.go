package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Explanation says of one clause whether an item matches it, and the same of the clauses below (extension).
type Explanation struct {
	Clause string `json:"clause"`
	// Occur is "must", "should" or "must not"; "" at the root.
	Occur   string `json:"occur"`
	Matched bool   `json:"matched"`
	// Score is the clause's part of the relevance.
	Score float64 `json:"score"`
	// Detail says in words what was looked at.
	Detail   string        `json:"detail"`
	Children []Explanation `json:"children"`
}

// ExplainFilter says why an item is in a filter, named by its UUID or its numeric id, or is not (extension). READ-WRITE.
// An id that the property does not have is a *Problem with status 404.
func (c *Client) ExplainFilter(ctx context.Context, filter string, id item.ID) (Explanation, error) {
	var answer struct {
		Explanation Explanation `json:"explanation"`
	}
	err := c.do(ctx, call{
		method: http.MethodGet, path: path("v2", "content", "filters", filter, "explain"), query: url.Values{"ugc_id": {number(id)}},
	}, &answer)
	return answer.Explanation, err
}
