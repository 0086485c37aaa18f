package client

import "context"

// Status is the part of the state of a property that tells which items its access tokens read (extension).
type Status struct {
	// Property is the property of the client's token, as the namespace/name of its manifest.
	Property string `json:"property"`
	// ReadOnlyScope is the scope of the READ-ONLY tokens without a query of their own.
	ReadOnlyScope Scope `json:"read_only_scope"`
	// Tokens are the tokens that have a valid value.
	Tokens []TokenStatus `json:"tokens"`
}

// TokenStatus is an access token in a Status.
type TokenStatus struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Scope is the scope of the token: its own or, for a READ-ONLY token without a query, that of the property.
	Scope
}

// Scope is the query that limits what tokens read.
type Scope struct {
	// Query is "" if the tokens read all items, or if QueryHidden is true.
	Query string `json:"query"`
	// QueryHidden is true if the query uses private fields that the client's token may not read.
	QueryHidden bool `json:"query_hidden"`
}

// Status returns the state of the property of the token (extension). It needs a READ-WRITE token. With any other token, it fails with a
// *Problem with status 403.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	err := c.get(ctx, "/v2/content/status", nil, &s)
	return s, err
}
