package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Tag names a tag (specification, Tag).
type Tag struct {
	Namespace string `json:"namespace"`
	Key       string `json:"key"`
}

// AddTag creates the tag if it does not exist, and adds it to all of the items. If one of them is unknown, AddTag adds the tag to none of
// them. It is idempotent. It needs a READ-WRITE token.
func (c *Client) AddTag(ctx context.Context, t Tag, ids ...item.ID) error {
	body := struct {
		Tag
		IDs []item.ID `json:"ugc_ids"`
	}{t, ids}
	return c.do(ctx, call{method: http.MethodPost, path: "/v1/tags/", body: body}, nil)
}

// RemoveTag removes the tag from one item. It needs a READ-WRITE token. If the item does not have the tag, the error is a *Problem with
// status 404. If a manifest assigns the tag, the status is 403.
func (c *Client) RemoveTag(ctx context.Context, t Tag, id item.ID) error {
	return c.do(ctx, call{method: http.MethodDelete, path: path("v1", "tags", t.Namespace, t.Key, number(id))}, nil)
}

// TaggedItems yields the items that carry a tag, newest first. Use it only for content management at low volume (specification, Tagging).
// Displays should list filters or queries instead.
func (c *Client) TaggedItems(ctx context.Context, t Tag) iter.Seq2[Item, error] {
	return listed(ctx, c, path("v1", "tags", t.Namespace, t.Key)+"/", nil, func(raw json.RawMessage) ([]Item, error) {
		var embedded struct {
			Items []Item `json:"ugc:tags"`
		}
		err := json.Unmarshal(raw, &embedded)
		return embedded.Items, err
	})
}

// ItemTags returns the tags of one item by namespace and key.
func (c *Client) ItemTags(ctx context.Context, id item.ID) ([]Tag, error) {
	var answer struct {
		Embedded struct {
			Tags []Tag `json:"tags"`
		} `json:"_embedded"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: path("v1", "tags", "ugc", number(id)) + "/"}, &answer)
	return answer.Embedded.Tags, err
}
