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

// AddTag makes the tag if it is new and applies it to all of the items, or to none when one of them is unknown. READ-WRITE.
// Tagging twice is the same as once.
func (c *Client) AddTag(ctx context.Context, t Tag, ids ...item.ID) error {
	body := struct {
		Tag
		IDs []item.ID `json:"ugc_ids"`
	}{t, ids}
	return c.do(ctx, call{method: http.MethodPost, path: "/v1/tags/", body: body}, nil)
}

// RemoveTag takes the tag from one item. READ-WRITE. A mapping that is not there is a *Problem with status 404, one that a
// manifest holds with status 403.
func (c *Client) RemoveTag(ctx context.Context, t Tag, id item.ID) error {
	return c.do(ctx, call{method: http.MethodDelete, path: path("v1", "tags", t.Namespace, t.Key, number(id))}, nil)
}

// TaggedItems yields the items that carry a tag, newest first. For content management and low volume use only
// (specification, Tagging); displays list filters or queries.
func (c *Client) TaggedItems(ctx context.Context, t Tag) iter.Seq2[Item, error] {
	return listed(ctx, c, path("v1", "tags", t.Namespace, t.Key)+"/", nil, func(raw json.RawMessage) ([]Item, error) {
		var embedded struct {
			Items []Item `json:"ugc:tags"`
		}
		err := json.Unmarshal(raw, &embedded)
		return embedded.Items, err
	})
}

// ItemTags returns the tags of one item, by namespace and key.
func (c *Client) ItemTags(ctx context.Context, id item.ID) ([]Tag, error) {
	var answer struct {
		Embedded struct {
			Tags []Tag `json:"tags"`
		} `json:"_embedded"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: path("v1", "tags", "ugc", number(id)) + "/"}, &answer)
	return answer.Embedded.Tags, err
}
