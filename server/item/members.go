package item

import "encoding/json"

// Format is the number of the form of an Encoded, which is its first byte. Increase it when the form changes, also by a new member. The
// formats of segments and of stores increase with it.
const Format = 2

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
	LastModified          string // private, and an extension: when the item's own data last changed
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

// These are the beginnings of the paths in objects.
const (
	inCoordinates = "content.platform_data.geo_data.coordinates."
	inPlace       = "content.platform_data.location."
	inAuthor      = "content.author."
	inProfile     = inAuthor + "profile."
	inMedia       = "content.media."
	inImages      = inMedia + "media_urls."
)

// These are the paths that other code or several rows name.
const (
	pathPermalink = "shortened_permalink"
	pathCode      = "short_code"
	pathCreated   = "created_on"
	pathModified  = "last_modified"
	pathPlatform  = "content.social_platform"
	pathType      = "content.content_type"
	pathUsername  = inAuthor + "username"
	pathUser      = inProfile + "username"
	pathOriginal  = inMedia + "original_url"
)

// These are computed texts of an Encoded, which are no members (see record).
const (
	firstHashtag = "tags." + HashtagNamespace
	shownImage   = "image"
)

// The fillers of places.
const (
	fillPlace   = "Unknown"
	fillUnknown = "unknown"
)

// itemMembers are the members of an item, in the order of a line. All code that handles every member derives from this table: it reads and
// writes lines, encodes and decodes the stored form, builds responses, yields the values of fields, and applies patches. Tags and units are
// not in the table.
//
// To add a member, add a field to one of the types above and a row here, and increase Format. A member that queries can use also needs a
// row with the same name in server/query/catalogue.go. Each text and each number gets the next position in the stored form, and each flag
// and each number that can be absent gets the next bit of the flags. The positions of existing members never change.
var itemMembers = [...]memberOf[Item]{
	{path: "id", form: formID, number: 0, at: func(it *Item) any { return &it.ID }},
	{path: "entry_confirmation_sent", form: formFlag, flag: 1 << 0, patch: true, at: func(it *Item) any { return &it.EntryConfirmationSent }},
	{path: "approval_status", form: formChoice, choices: []string{Approved, Rejected, Pending}, text: 0, filler: Pending, patch: true,
		at: func(it *Item) any { return &it.ApprovalStatus }},
	{path: "campaign", form: formNumber, number: 1, flag: 1 << 3, patch: true, at: func(it *Item) any { return &it.Campaign }},
	{path: "submission", form: formSubmission, text: 4, filler: "null", patch: true, private: true,
		at: func(it *Item) any { return &it.Submission }},
	{path: pathPermalink, form: formLink, text: 2, apart: true, at: func(it *Item) any { return &it.ShortenedPermalink }},
	{path: pathCode, form: formCode, text: 3, apart: true, at: func(it *Item) any { return &it.ShortCode }},
	{path: pathCreated, form: formDate, text: 1, filler: epoch, at: func(it *Item) any { return &it.CreatedOn }},
	{path: pathModified, form: formDate, text: 44, instead: []string{pathCreated}, filler: epoch, private: true,
		at: func(it *Item) any { return &it.LastModified }},
	{path: "hashtag.social_platform", text: 6, instead: []string{pathPlatform}, filler: Direct,
		at: func(it *Item) any { return &it.Hashtag.SocialPlatform }},
	{path: "hashtag.id", form: formForeign, number: 2, at: func(it *Item) any { return &it.Hashtag.ID }},
	{path: "hashtag.hashtag_text", text: 7, instead: []string{firstHashtag}, at: func(it *Item) any { return &it.Hashtag.Text }},
	{path: "featured", form: formFlag, flag: 1 << 1, patch: true, at: func(it *Item) any { return &it.Featured }},
	{path: "configuration", form: formJSON, text: 5, filler: "null", patch: true, at: func(it *Item) any { return &it.Configuration }},
	{path: "claimed", form: formFlag, flag: 1 << 2, patch: true, at: func(it *Item) any { return &it.Claimed }},

	{path: "content.platform_data.geo_data.type", text: 16, filler: "Point", at: func(it *Item) any { return &it.Content.Geo.Type }},
	{path: inCoordinates + "latitude", form: formLatitude, text: 17, filler: "0", at: func(it *Item) any { return &it.Content.Geo.Latitude }},
	{path: inCoordinates + "longitude", form: formLongitude, text: 18, filler: "0",
		at: func(it *Item) any { return &it.Content.Geo.Longitude }},
	{path: inPlace + "country_code", text: 19, filler: "ZZ", at: func(it *Item) any { return &it.Content.Location.CountryCode }},
	{path: inPlace + "url", form: formLink, text: 20, filler: blank, at: func(it *Item) any { return &it.Content.Location.URL }},
	{path: inPlace + "country", text: 21, filler: fillPlace, at: func(it *Item) any { return &it.Content.Location.Country }},
	{path: inPlace + "place_type", text: 22, filler: fillUnknown, at: func(it *Item) any { return &it.Content.Location.PlaceType }},
	{path: inPlace + "type", text: 23, filler: fillUnknown, at: func(it *Item) any { return &it.Content.Location.Type }},
	{path: inPlace + "full_name", text: 24, filler: fillPlace, at: func(it *Item) any { return &it.Content.Location.FullName }},
	{path: inPlace + "name", text: 25, filler: fillPlace, at: func(it *Item) any { return &it.Content.Location.Name }},
	{path: inPlace + "bounding_box", text: 26, at: func(it *Item) any { return &it.Content.Location.BoundingBox }},
	{path: inPlace + "coordinates", text: 27, at: func(it *Item) any { return &it.Content.Location.Coordinates }},
	{path: "content.platform_data.social_platform_original_url", form: formLink, text: 15, instead: []string{pathOriginal}, filler: blank,
		at: func(it *Item) any { return &it.Content.OriginalURL }},

	{path: pathUser, text: 29, instead: []string{pathUsername}, filler: fillUnknown,
		at: func(it *Item) any { return &it.Content.Author.ProfileUser }},
	{path: inProfile + "name", text: 30, instead: []string{pathUsername, pathUser}, filler: fillUnknown,
		at: func(it *Item) any { return &it.Content.Author.ProfileName }},
	{path: inProfile + "profile_link", form: formLink, text: 31, filler: blank,
		at: func(it *Item) any { return &it.Content.Author.ProfileLink }},
	{path: inProfile + "avatar", form: formLink, text: 32, filler: blank, at: func(it *Item) any { return &it.Content.Author.Avatar }},
	{path: inAuthor + "platform_id", text: 33, at: func(it *Item) any { return &it.Content.Author.PlatformID }},
	{path: inAuthor + "social_platform", text: 34, instead: []string{pathPlatform}, filler: Direct,
		at: func(it *Item) any { return &it.Content.Author.SocialPlatform }},
	{path: inAuthor + "created_on", form: formDate, text: 35, instead: []string{pathCreated}, filler: epoch,
		at: func(it *Item) any { return &it.Content.Author.CreatedOn }},
	{path: pathUsername, text: 28, instead: []string{pathUser}, filler: fillUnknown,
		at: func(it *Item) any { return &it.Content.Author.Username }},
	{path: inAuthor + "id", form: formForeign, number: 3, flag: 1 << 4, at: func(it *Item) any { return &it.Content.Author.ID }},

	{path: "content.text", form: formText, text: 9, patch: true, at: func(it *Item) any { return &it.Content.Text }},
	{path: "content.social_platform_created_on", form: formDate, text: 14, instead: []string{pathCreated}, filler: epoch,
		at: func(it *Item) any { return &it.Content.SocialPlatformCreatedOn }},
	{path: "content.platform_ref", form: formReference, text: 11, suffix: func(it *Item) string { return it.Content.SocialPlatform },
		at: func(it *Item) any { return &it.Content.PlatformRef }},
	{path: "content.content_state", text: 12, filler: Active, patch: true, at: func(it *Item) any { return &it.Content.ContentState }},
	{path: pathPlatform, text: 10, filler: Direct, at: func(it *Item) any { return &it.Content.SocialPlatform }},
	{path: "content.created_on", form: formDate, text: 13, instead: []string{pathCreated}, filler: epoch,
		at: func(it *Item) any { return &it.Content.CreatedOn }},
	{path: pathType, form: formChoice, choices: []string{Image, Video, Text}, text: 8, filler: Text,
		at: func(it *Item) any { return &it.Content.ContentType }},

	{path: inMedia + "platform_data.url", form: formLink, text: 36, instead: []string{pathOriginal}, filler: blank,
		at: func(it *Item) any { return &it.Content.Media.PlatformURL }},
	{path: pathOriginal, form: formLink, text: 37, filler: blank, at: func(it *Item) any { return &it.Content.Media.OriginalURL }},
	{path: inMedia + "base_url", form: formLink, text: 38, instead: []string{pathOriginal}, filler: blank,
		at: func(it *Item) any { return &it.Content.Media.BaseURL }},
	{path: inMedia + "mediatype", text: 39, instead: []string{pathType}, filler: Text,
		at: func(it *Item) any { return &it.Content.Media.MediaType }},
	{path: inMedia + "social_platform", text: 40, instead: []string{pathPlatform}, filler: Direct,
		at: func(it *Item) any { return &it.Content.Media.SocialPlatform }},
	{path: inImages + "small_image", form: formLink, text: 41, instead: []string{shownImage}, filler: blank,
		at: func(it *Item) any { return &it.Content.Media.SmallImage }},
	{path: inImages + "medium_image", form: formLink, text: 42, instead: []string{shownImage}, filler: blank,
		at: func(it *Item) any { return &it.Content.Media.MediumImage }},
	{path: inImages + "large_image", form: formLink, text: 43, instead: []string{shownImage}, filler: blank,
		at: func(it *Item) any { return &it.Content.Media.LargeImage }},
	{path: inMedia + "id", form: formForeign, number: 4, flag: 1 << 5, at: func(it *Item) any { return &it.Content.Media.ID }},
}

// itemObjects are the objects in an item that can be absent.
var itemObjects = [...]objectOf[Item]{
	optional("hashtag", func(it *Item) **Hashtag { return &it.Hashtag }),
	optional("content.platform_data.geo_data", func(it *Item) **Geo { return &it.Content.Geo }),
	optional("content.platform_data.location", func(it *Item) **Location { return &it.Content.Location }),
	optional("content.author", func(it *Item) **Author { return &it.Content.Author }),
	optional("content.media", func(it *Item) **Media { return &it.Content.Media }),
}

// shownOrder is the order of members in those objects of the response in which it differs from the order of a line. Members that are not
// listed follow the others.
var shownOrder = map[string][]string{
	"": {"id", "approval_status", "created_on", "featured", "campaign", "claimed", "entry_confirmation_sent", "hashtag", "configuration",
		"content"},
	"content": {"content_type", "text", "social_platform", "platform_ref", "content_state", "created_on", "social_platform_created_on",
		"platform_data", "author", "media"},
	"content.platform_data": {"social_platform_original_url", "geo_data", "location"},
	"content.author":        {"username", "platform_id", "id", "social_platform", "created_on", "profile"},
	"content.media":         {"mediatype", "id", "social_platform", "original_url", "base_url", "platform_data", "media_urls"},
}

// unitMembers are the members of a conversion unit, in the order of a line and of a response.
var unitMembers = [...]memberOf[Unit]{
	{path: "id", form: formID, at: func(u *Unit) any { return &u.ID }},
	{path: "name", form: formName, at: func(u *Unit) any { return &u.Name }},
	{path: "image_url", form: formLink, at: func(u *Unit) any { return &u.ImageURL }},
	{path: "click_through_url", form: formLink, at: func(u *Unit) any { return &u.ClickThroughURL }},
	{path: "catalog_item", form: formJSON, at: func(u *Unit) any { return &u.CatalogItem }},
	{path: "catalog_image_url_src", form: formJSON, at: func(u *Unit) any { return &u.CatalogImageURLSrc }},
	{path: "external_id", at: func(u *Unit) any { return &u.ExternalID }},
	{path: "archived", form: formFlag, at: func(u *Unit) any { return &u.Archived }},
	{path: "managed", form: formFlag, at: func(u *Unit) any { return &u.Managed }},
	{path: "created_on", form: formDate, at: func(u *Unit) any { return &u.CreatedOn }},
	{path: "last_modified", form: formDate, at: func(u *Unit) any { return &u.LastModified }},
	{path: "click_unit_library", form: formNumber, at: func(u *Unit) any { return &u.ClickUnitLibrary }},
	{path: "activate_unit_library", form: formNumber, at: func(u *Unit) any { return &u.ActivateUnitLibrary }},
}

var (
	itemTable = newTable(itemMembers[:], itemObjects[:], "content")
	unitTable = newTable(unitMembers[:], nil, "")
)
