package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// Suggestions contains the problems in a query and an order that a user is typing, and the completions at a position of the query
// (extension). Positions count UTF-16 code units from 0.
type Suggestions struct {
	Problems    []TextProblem `json:"problems"`
	Completions []Completion  `json:"completions"`
}

// TextProblem is an error or a warning about a query or an order.
type TextProblem struct {
	// Severity is error or warning.
	Severity string `json:"severity"`
	// In names the text that has the problem: q or sort_by.
	In      string `json:"in"`
	Start   int    `json:"start"`
	End     int    `json:"end"`
	Message string `json:"message"`
}

// Completion is a text that can replace the query from Start to End.
type Completion struct {
	Text  string `json:"text"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	// Kind is field, enum, tag, value or operator.
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
	// Count is the number of items of the property with the value, or nil if the server did not count them.
	Count *int64 `json:"count"`
}

// Suggest checks a query and an order that a user is typing, and completes the query at a position.
func (c *Client) Suggest(ctx context.Context, query, sortBy string, position int) (Suggestions, error) {
	var s Suggestions
	err := c.do(ctx, call{
		method: http.MethodGet, path: "/v2/content/suggest",
		query: url.Values{"q": {query}, "sort_by": {sortBy}, "position": {strconv.Itoa(position)}},
	}, &s)
	return s, err
}
