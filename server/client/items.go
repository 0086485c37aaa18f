package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Item is a content item in response form (specification, Content item). Timestamps are RFC 3339 in UTC, or a year, a month or a day if
// they were imported in that form.
type Item struct {
	ID                    item.ID `json:"id"`
	ActivateUnits         []Unit  `json:"activate_units"`
	EntryConfirmationSent bool    `json:"entry_confirmation_sent"`
	// ApprovalStatus is app, rej or pen.
	ApprovalStatus      string `json:"approval_status"`
	Campaign            int64  `json:"campaign"`
	DefaultActivateUnit Unit   `json:"default_activate_unit"`
	// Submission contains PII. It is nil for READ-ONLY tokens, and for items without a submission.
	Submission         json.RawMessage `json:"submission,omitempty"`
	Content            Content         `json:"content"`
	ShortenedPermalink string          `json:"shortened_permalink"`
	CreatedOn          string          `json:"created_on"`
	Hashtag            Hashtag         `json:"hashtag"`
	Featured           bool            `json:"featured"`
	Configuration      json.RawMessage `json:"configuration,omitempty"`
	// Claimed is an extension of the specification.
	Claimed bool `json:"claimed"`
	// LastModified is when the item's own data last changed, as RFC 3339 with milliseconds. It is an extension of the specification, and "" for
	// tokens that do not allow ReadPrivate.
	LastModified string `json:"last_modified,omitempty"`
}

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

// Hashtag is the hashtag through which a collector found the item.
type Hashtag struct {
	SocialPlatform string `json:"social_platform"`
	ID             int64  `json:"id"`
	HashtagText    string `json:"hashtag_text"`
}

// Content is the content object of an item (specification, Content object).
type Content struct {
	PlatformData            PlatformData `json:"platform_data"`
	Author                  Author       `json:"author"`
	Text                    string       `json:"text"`
	SocialPlatformCreatedOn string       `json:"social_platform_created_on"`
	// PlatformRef is the value of the member whose name starts with "platform_ref:".
	PlatformRef    string `json:"-"`
	ContentState   string `json:"content_state"`
	SocialPlatform string `json:"social_platform"`
	CreatedOn      string `json:"created_on"`
	// ContentType is image, video or text.
	ContentType string `json:"content_type"`
	Media       Media  `json:"media"`
}

// UnmarshalJSON decodes the content object, including the member whose name depends on the platform.
func (c *Content) UnmarshalJSON(b []byte) error {
	type plain Content
	if err := json.Unmarshal(b, (*plain)(c)); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	for name, value := range members {
		if strings.HasPrefix(name, "platform_ref:") {
			if err := json.Unmarshal(value, &c.PlatformRef); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// PlatformData describes the origin of an item.
type PlatformData struct {
	GeoData struct {
		Type        string `json:"type"`
		Coordinates struct {
			Latitude  float64 `json:"latitude"`
			Longitude float64 `json:"longitude"`
		} `json:"coordinates"`
	} `json:"geo_data"`
	Location struct {
		CountryCode string `json:"country_code"`
		URL         string `json:"url"`
		Country     string `json:"country"`
		PlaceType   string `json:"place_type"`
		Type        string `json:"type"`
		FullName    string `json:"full_name"`
		Name        string `json:"name"`
		BoundingBox string `json:"bounding_box"`
		Coordinates string `json:"coordinates"`
	} `json:"location"`
	SocialPlatformOriginalURL string `json:"social_platform_original_url"`
}

// Author is the author of an item.
type Author struct {
	Profile struct {
		Username    string `json:"username"`
		Name        string `json:"name"`
		ProfileLink string `json:"profile_link"`
		Avatar      string `json:"avatar"`
	} `json:"profile"`
	PlatformID     string `json:"platform_id"`
	SocialPlatform string `json:"social_platform"`
	CreatedOn      string `json:"created_on"`
	Username       string `json:"username"`
	ID             int64  `json:"id"`
}

// Media is the image or video of an item (specification, Media).
type Media struct {
	PlatformData struct {
		URL string `json:"url"`
	} `json:"platform_data"`
	OriginalURL    string `json:"original_url"`
	BaseURL        string `json:"base_url"`
	MediaType      string `json:"mediatype"`
	SocialPlatform string `json:"social_platform"`
	MediaURLs      struct {
		SmallImage  string `json:"small_image"`
		MediumImage string `json:"medium_image"`
		LargeImage  string `json:"large_image"`
	} `json:"media_urls"`
	ID int64 `json:"id"`
}

// Listing selects the order and page size of a list of items. The zero value means the server's defaults.
type Listing struct {
	// SortBy is `<field>:<asc|desc>`, a comma-separated list of such keys, `_score:desc` or `random`.
	SortBy string
	// AdditionalQuery restricts the items of the filter further.
	AdditionalQuery string
	// PageSize is the number of items in one response, from 1 to 500. 0 means the server's default of 50.
	PageSize int
}

func (l Listing) values() url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("sort_by", l.SortBy)
	set("additional_query", l.AdditionalQuery)
	if l.PageSize != 0 {
		v.Set("page_size", strconv.Itoa(l.PageSize))
	}
	return v
}

// FilterItems yields every item of the filter with the given UUID or numeric id, page by page. If items are added during the listing, it
// does not repeat or skip other items. The first error ends the listing. For a syntax error in the additional query, the error is a *Problem
// with a Position. FilterItems needs a READ-WRITE token unless READ-ONLY tokens may list the filter.
func (c *Client) FilterItems(ctx context.Context, filter string, l Listing) iter.Seq2[Item, error] {
	return listed(ctx, c, path("v2", "content", "filters", filter), l.values(), func(raw json.RawMessage) ([]Item, error) {
		var embedded struct {
			Items []Item `json:"ugc:item"`
		}
		err := json.Unmarshal(raw, &embedded)
		return embedded.Items, err
	})
}

// CountItems returns the number of items that match a query.
func (c *Client) CountItems(ctx context.Context, query string) (int64, error) {
	var page struct {
		Total int64 `json:"total_results"`
	}
	err := c.get(ctx, "/v2/content/items", url.Values{"q": {query}, "page_size": {"1"}}, &page)
	return page.Total, err
}

// page is the envelope of every list. In the list of filters, the name of the member _embedded is spelled _embeded.
type page struct {
	Total    int64           `json:"total_results"`
	Embedded json.RawMessage `json:"_embedded"`
	Embeded  json.RawMessage `json:"_embeded"`
	Links    struct {
		Next *struct {
			Href string `json:"href"`
		} `json:"next"`
	} `json:"_links"`
}

// listed yields the members of a list and follows its next links.
func listed[T any](ctx context.Context, c *Client, p string, v url.Values, members func(json.RawMessage) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		for {
			var got page
			if err := c.get(ctx, p, v, &got); err != nil {
				yield(zero, err)
				return
			}
			raw := got.Embedded
			if raw == nil {
				raw = got.Embeded
			}
			list, err := members(raw)
			if err != nil {
				yield(zero, fmt.Errorf("read the response to GET %s: %w", p, err))
				return
			}
			for _, m := range list {
				if !yield(m, nil) {
					return
				}
			}
			if got.Links.Next == nil {
				return
			}
			if p, v, err = c.follow(got.Links.Next.Href); err != nil {
				yield(zero, err)
				return
			}
		}
	}
}

// follow parses a link in a response. It uses only the path and the query of the link, so that no response can make the client send the
// token elsewhere.
func (c *Client) follow(href string) (string, url.Values, error) {
	u, err := url.Parse(href)
	if err != nil || !strings.HasPrefix(u.Path, "/") {
		return "", nil, errors.New("the server sent a next link that is not a path")
	}
	p := strings.TrimPrefix(u.EscapedPath(), c.base.EscapedPath())
	return p, u.Query(), nil
}
