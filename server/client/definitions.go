package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Definition is a tag or a conversion unit and what it applies to (extension).
type Definition struct {
	// Kind is Tag or ActivateUnit.
	Kind string `json:"kind"`
	// ManagedBy is the manifest, such as "Tag shop/summer", or "" for a tag that only callers set and a unit created over HTTP.
	ManagedBy string `json:"managed_by"`
	// Tag is zero for a unit.
	Tag
	// ID and Name are set for a unit.
	ID   int64  `json:"id"`
	Name string `json:"name"`
	// ClickThroughURL, Default and Archived are set for a unit.
	ClickThroughURL string `json:"click_through_url"`
	Default         bool   `json:"default"`
	Archived        bool   `json:"archived"`
	// IDs are the first 100 ids that the manifest lists, and IDCount is the number of all ids that it lists.
	IDs     []item.ID `json:"ids"`
	IDCount int       `json:"id_count"`
	// Selector is the query that selects further items, or "".
	Selector string `json:"selector"`
	// Items is the number of items that have the tag or unit from any source.
	Items int64 `json:"items"`
}

// Definitions yields the tags by namespace and key (kind "tag"), or the units by id ("unit"). Of the tags that only callers set,
// it yields the most frequent ones. It needs a READ-WRITE token.
func (c *Client) Definitions(ctx context.Context, kind string) iter.Seq2[Definition, error] {
	return listed(ctx, c, "/v2/content/definitions", url.Values{"kind": {kind}}, func(raw json.RawMessage) ([]Definition, error) {
		var embedded struct {
			Definitions []Definition `json:"definitions"`
		}
		err := json.Unmarshal(raw, &embedded)
		return embedded.Definitions, err
	})
}

// Sources are the tags and units of an item with the reasons why it has them (extension).
type Sources struct {
	Tags []struct {
		Tag
		Sources []Source `json:"sources"`
	} `json:"tags"`
	Units []struct {
		ID      int64    `json:"id"`
		Label   string   `json:"label"`
		Sources []Source `json:"sources"`
	} `json:"units"`
}

// Source is a manifest or a caller that gave an item a tag or a unit.
type Source struct {
	// Kind is Tag, ActivateUnit, or caller, which has no other members.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// By is id if the manifest lists the item, or selector.
	By string `json:"by"`
}

// Sources returns where the tags and units of an item come from. It needs a READ-WRITE token.
func (c *Client) Sources(ctx context.Context, id item.ID) (Sources, error) {
	var s Sources
	err := c.do(ctx, call{method: http.MethodGet, path: path("v2", "content", "items", number(id), "sources")}, &s)
	return s, err
}
