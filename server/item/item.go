package item

import (
	"encoding/json"
	"fmt"
)

// ID identifies an item within its property. It is from 1 to 2^53-1.
type ID = int64

// MaxID is the largest id of an item, a unit or a filter. Up to this value, all JSON parsers read integers exactly.
const MaxID = 1<<53 - 1

// ValidID reports whether id is a valid id of an item, a unit or a filter, that is, from 1 to MaxID.
func ValidID(id int64) bool { return id >= 1 && id <= MaxID }

// Item is one content item as it is stored, with only the values that were given. A zero value or a nil pointer means that the item has no
// value, which `_missing_` matches. Encoded.Append fills in the members that the specification requires. Timestamps are RFC 3339 in UTC, or
// a year, a month or a day if they were imported in that form.
//
// The JSON form (Marshal, ParseLine, Unmarshal) is the item shape of the specification without fillers, plus tags, claimed
// and short_code. It is the line of an export.
type Item struct {
	ID                    ID
	EntryConfirmationSent bool
	ApprovalStatus        string // app, rej or pen
	Campaign              *int64
	Submission            json.RawMessage // private: PII; a JSON object, or nil
	ShortenedPermalink    string          // as imported, or "" to show the server's own short link
	ShortCode             string          // the code of the server's short link; random, generated once
	CreatedOn             string
	Hashtag               *Hashtag
	Featured              bool
	Configuration         json.RawMessage // any JSON, or nil for null
	Claimed               bool            // extension
	Content               Content
	// Tags are the item's own tags: those that were set over HTTP or by import. They are unique, and sorted by namespace and key.
	Tags []Tag
	// Units are the ids of the item's own conversion units, without duplicates, in the given order.
	Units []int64
}

// Hashtag is the hashtag through which a collector found the item.
type Hashtag struct {
	SocialPlatform string
	ID             int64
	Text           string
}

// Content is the content object of an item.
type Content struct {
	Geo                     *Geo
	Location                *Location
	OriginalURL             string // platform_data.social_platform_original_url
	Author                  *Author
	Text                    string
	SocialPlatformCreatedOn string
	PlatformRef             string // the value of platform_ref:<platform>; content_ref of an added item
	ContentState            string
	SocialPlatform          string
	CreatedOn               string
	ContentType             string // image, video or text
	Media                   *Media
}

// Geo is platform_data.geo_data.
type Geo struct {
	Type                string
	Latitude, Longitude float64
}

// Location is platform_data.location.
type Location struct {
	CountryCode, URL, Country, PlaceType, Type, FullName, Name, BoundingBox, Coordinates string
}

// Author is content.author.
type Author struct {
	Username       string
	ProfileName    string
	ProfileUser    string // profile.username
	ProfileLink    string
	Avatar         string
	PlatformID     string
	SocialPlatform string
	CreatedOn      string
	ID             *int64
}

// Media is content.media.
type Media struct {
	PlatformURL                         string // platform_data.url
	OriginalURL, BaseURL, MediaType     string
	SocialPlatform                      string
	SmallImage, MediumImage, LargeImage string
	ID                                  *int64
}

// Tag names a tag.
type Tag struct{ Namespace, Key string }

// Unit is a conversion unit, as it appears in every item that carries it.
type Unit struct {
	ID                  int64
	Name                string
	ImageURL            string
	ClickThroughURL     string
	CatalogItem         json.RawMessage // any JSON, or nil for null
	CatalogImageURLSrc  json.RawMessage // any JSON, or nil for null
	ExternalID          string          // "" for null
	Archived            bool
	Managed             bool // true if a manifest declares it, here or (according to an import) at its origin
	CreatedOn           string
	LastModified        string
	ClickUnitLibrary    int64
	ActivateUnitLibrary int64
}

// Reference reports whether the unit is managed and has nothing but an id. Such a unit refers to a unit that a manifest declares.
func (u Unit) Reference() bool {
	return u.Managed && u.Name == "" && u.ImageURL == "" && u.ClickThroughURL == "" && u.CatalogItem == nil &&
		u.CatalogImageURLSrc == nil && u.ExternalID == ""
}

// InvalidError describes an invalid body, patch or import line.
type InvalidError struct {
	// Malformed is true for input that cannot be understood (HTTP 400: not JSON, a wrong type, a missing required member), and false for
	// input that is well-formed but not accepted (HTTP 422).
	Malformed bool
	// Member is the path of the invalid member, such as submission.email. "" means the whole document.
	Member string
	// Reason says what is wrong and what to do.
	Reason string
}

func (e *InvalidError) Error() string {
	if e.Member == "" {
		return e.Reason
	}
	return fmt.Sprintf("%s: %s", e.Member, e.Reason)
}
