package client

import (
	"context"
	"time"
)

// Rights are the rights of an access token.
type Rights struct {
	// Class is READ-ONLY or READ-WRITE.
	Class string `json:"class"`
	// Actions are the actions that the token permits, such as Moderate. A READ-ONLY token permits none.
	Actions []string `json:"actions"`
	// Filters contains the UUIDs of the filters that the token can list. It is nil if the token is not limited to certain filters.
	Filters []string `json:"filters,omitzero"`
	// Query is the query of the token: other items do not exist for it. It is "" if there is none, if the token may not read a private field
	// in it, and for READ-ONLY tokens.
	Query string `json:"query,omitempty"`
	// Items is the number of items that exist for the token. It is nil if the token is limited to certain filters.
	Items *int64 `json:"items,omitempty"`
	// Expires is the time at which the token value expires, or nil if that is never.
	Expires *time.Time `json:"expires"`
}

// Rights returns what the client's token permits (extension).
func (c *Client) Rights(ctx context.Context) (Rights, error) {
	var r Rights
	err := c.get(ctx, "/v2/content/rights", nil, &r)
	return r, err
}
