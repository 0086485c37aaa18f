package client

import (
	"context"
	"net/http"
	"time"
)

// Status is the state of the property of a token (extension).
type Status struct {
	// Property is the property as namespace/name. Version is the version of the server.
	Property string `json:"property"`
	Version  string `json:"version"`
	Items    int64  `json:"items"`
	// Definitions contains the numbers of served definitions. Tags counts the tags of manifests.
	Definitions struct {
		Filters int64 `json:"filters"`
		Tags    int64 `json:"tags"`
		Units   int64 `json:"units"`
		Tokens  int64 `json:"tokens"`
	} `json:"definitions"`
	// StoreBytes and MemoryBytes are sizes of the whole server. They are 0 if the server has other properties, or if the library does not
	// measure them.
	StoreBytes  int64        `json:"store_bytes"`
	MemoryBytes int64        `json:"memory_bytes"`
	Tokens      []TokenState `json:"tokens"`
	// Rejected lists the objects whose condition Ready is False. It is nil if the server cannot determine them at the moment.
	Rejected []Rejection `json:"rejected"`
}

// TokenState is an access token with a valid value.
type TokenState struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Class is READ-WRITE or READ-ONLY.
	Class string `json:"class"`
	// FiltersOnly is true for a token that can only list certain filters.
	FiltersOnly bool `json:"filters_only"`
	// Expires is the latest expiry time among the values of the token, or nil if one of them never expires.
	Expires *time.Time `json:"expires"`
}

// Rejection describes why the newest version of an object is not served.
type Rejection struct {
	// Kind is the kind of the object. For a file that cannot be read, Kind is File and Name is the path of the file.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
}

// Status returns the state of the property. It needs a READ-WRITE token.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	err := c.do(ctx, call{method: http.MethodGet, path: "/v2/content/status"}, &s)
	return s, err
}
