package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Definition is a tag or a conversion unit, with the items that it applies to (extension).
type Definition struct {
	// Kind is Tag or ActivateUnit.
	Kind string `json:"kind"`
	// ManagedBy is the manifest, such as "Tag shop/summer". It is "" for a tag that only callers set, and for a unit that was created over
	// HTTP.
	ManagedBy string `json:"managed_by"`
	// Tag is the tag. It is zero for a unit.
	Tag
	// ID and Name are set for a unit.
	ID   int64  `json:"id"`
	Name string `json:"name"`
	// ClickThroughURL, Default and Archived are set for a unit.
	ClickThroughURL string `json:"click_through_url"`
	Default         bool   `json:"default"`
	Archived        bool   `json:"archived"`
	// IDs are the first 100 item ids that the manifest lists. IDCount is the number of all item ids that it lists.
	IDs     []item.ID `json:"ids"`
	IDCount int       `json:"id_count"`
	// Selector is the query that selects further items, or "".
	Selector string `json:"selector"`
	// Problem says why the selector matches no item although the server accepted it before, or is "".
	Problem string `json:"problem"`
	// Items is the number of items that have the tag or unit from any source.
	Items int64 `json:"items"`
}

// Definitions yields the definitions of a kind: "tag" for tags, by namespace and key, or "unit" for units, by id. Of the tags that only
// callers set, it yields only the most frequent ones. It needs a READ-WRITE token.
func (c *Client) Definitions(ctx context.Context, kind string) iter.Seq2[Definition, error] {
	return listed(ctx, c, "/v2/content/definitions", url.Values{"kind": {kind}}, func(raw json.RawMessage) ([]Definition, error) {
		var embedded struct {
			Definitions []Definition `json:"definitions"`
		}
		err := json.Unmarshal(raw, &embedded)
		return embedded.Definitions, err
	})
}

// Sources contains the tags and units of an item, with the reasons why the item has them (extension).
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

// Source says where a tag or a unit of an item comes from: a manifest or a caller.
type Source struct {
	// Kind is Tag, ActivateUnit, or caller. For a caller, the other members are empty.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// By is "id" if the manifest lists the item, or "selector" if its selector matches the item.
	By string `json:"by"`
}

// Sources returns the origins of the tags and units of an item. It needs a READ-WRITE token.
func (c *Client) Sources(ctx context.Context, id item.ID) (Sources, error) {
	var s Sources
	err := c.do(ctx, call{method: http.MethodGet, path: path("v2", "content", "items", number(id), "sources")}, &s)
	return s, err
}
