package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Unit is a conversion unit: an action, such as a purchase, that can be attached to items (specification, Conversion unit).
type Unit struct {
	ID                 int64           `json:"id"`
	Name               string          `json:"name"`
	ImageURL           string          `json:"image_url"`
	ClickThroughURL    string          `json:"click_through_url"`
	CatalogItem        json.RawMessage `json:"catalog_item,omitempty"`
	CatalogImageURLSrc json.RawMessage `json:"catalog_image_url_src,omitempty"`
	ExternalID         json.RawMessage `json:"external_id,omitempty"`
	Archived           bool            `json:"archived"`
	// Managed is true for units from manifests.
	Managed             bool   `json:"managed"`
	CreatedOn           string `json:"created_on"`
	LastModified        string `json:"last_modified"`
	ClickUnitLibrary    int64  `json:"click_unit_library"`
	ActivateUnitLibrary int64  `json:"activate_unit_library"`
}

// Units returns all conversion units of the property, including archived ones.
func (c *Client) Units(ctx context.Context) ([]Unit, error) {
	var answer struct {
		Embedded struct {
			Units []Unit `json:"activate_unit:item"`
		} `json:"_embedded"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/activate_units/"}, &answer)
	return answer.Embedded.Units, err
}

// Unit returns one conversion unit. Use it only at low volume (specification, Conversion units).
func (c *Client) Unit(ctx context.Context, id int64) (Unit, error) {
	var answer []Unit // the server returns an array with one unit
	if err := c.do(ctx, call{method: http.MethodGet, path: path("v1", "activate_units", number(id))}, &answer); err != nil {
		return Unit{}, err
	}
	if len(answer) != 1 {
		return Unit{}, fmt.Errorf("read the response for unit %d: %d units instead of one", id, len(answer))
	}
	return answer[0], nil
}
