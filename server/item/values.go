package item

import (
	"bytes"
	"encoding/json"
	"iter"

	"github.com/vitrine-dev/vitrine/server/query"
)

// Values yields every indexed value of the item with its field in the catalogue. Texts and keywords are as stored. Dates are in
// milliseconds, and a year, a month or a day means its first instant. Free JSON is a string if the JSON is a string, otherwise compact
// text. If bare words search a text, Values yields it a second time, under query.AllField. The parameters units and tags contain all units
// and tags that the item carries: its own and those from manifests. def is the property's default unit, or nil. It counts as
// default_activate_unit if all units of the item are archived (see DefaultUnit).
//
// Values yields nothing for missing values, so fillers are never indexed. It also yields the private fields of the submission (see
// query.Field.Private).
func (it *Item) Values(units []Unit, def *Unit, tags []Tag) iter.Seq2[query.Field, query.Value] {
	return func(yield func(query.Field, query.Value) bool) {
		e := emitter{yield: yield}
		e.item(it)
		for i := range units {
			e.unit(&attachedFields, &units[i])
		}
		if u := DefaultUnit(units, def); u != nil {
			e.unit(&defaultFields, u)
		}
		for _, t := range tags {
			e.word(resolve(query.TagFieldName(t.Namespace)), t.Key)
		}
	}
}

// FieldNames yields the canonical names of the dynamic fields in which the item itself has a value, without duplicates (see query.TagField
// and query.SubmissionField).
func (it *Item) FieldNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		e := emitter{yield: func(f query.Field, _ query.Value) bool { return yield(f.Name) }}
		if it.Submission != nil {
			e.submission(it.Submission)
		}
		for i, t := range it.Tags {
			if i == 0 || t.Namespace != it.Tags[i-1].Namespace {
				e.word(resolve(query.TagFieldName(t.Namespace)), t.Key)
			}
		}
	}
}

// emitter yields values until the consumer stops.
type emitter struct {
	yield func(query.Field, query.Value) bool
	done  bool
}

func (e *emitter) value(f query.Field, v query.Value) {
	if !e.done {
		e.done = !e.yield(f, v)
	}
}

// word yields a keyword or a text, unless it is empty.
func (e *emitter) word(f query.Field, s string) {
	if s != "" {
		e.value(f, query.Value{Str: s})
	}
}

// found yields a text, and then yields it again under query.AllField, which bare words search.
func (e *emitter) found(f query.Field, s string) {
	e.word(f, s)
	e.word(allField, s)
}

func (e *emitter) date(f query.Field, timestamp string) {
	if ms, ok := Millis(timestamp); ok {
		e.value(f, query.Value{Int: ms})
	}
}

func (e *emitter) integer(f query.Field, n *int64) {
	if n != nil {
		e.value(f, query.Value{Int: *n})
	}
}

// number yields a number unless it is 0.
func (e *emitter) number(f query.Field, n int64) {
	if n != 0 {
		e.value(f, query.Value{Int: n})
	}
}

func (e *emitter) boolean(f query.Field, b bool) {
	v := query.Value{}
	if b {
		v.Int = 1
	}
	e.value(f, v)
}

// raw yields free JSON, except null, "", [] and {}, which count as missing (query language, Fields).
func (e *emitter) raw(f query.Field, raw json.RawMessage) {
	if raw == nil {
		return
	}
	if raw = bytes.TrimLeft(raw, " \t\r\n"); len(raw) > 0 && raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			e.word(f, s)
			return
		}
	}
	switch compact := string(appendRaw(nil, raw)); compact {
	case "[]", "{}", "null":
	default:
		e.word(f, compact)
	}
}

func (e *emitter) double(f query.Field, d float64) { e.value(f, query.Value{Float: d}) }

func (e *emitter) item(it *Item) {
	f := &itemFields
	e.number(f.id, it.ID)
	e.boolean(f.confirmationSent, it.EntryConfirmationSent)
	e.word(f.approvalStatus, it.ApprovalStatus)
	e.integer(f.campaign, it.Campaign)
	e.word(f.permalink, it.ShortenedPermalink)
	e.date(f.createdOn, it.CreatedOn)
	e.boolean(f.featured, it.Featured)
	e.boolean(f.claimed, it.Claimed)
	e.raw(f.configuration, it.Configuration)
	if h := it.Hashtag; h != nil {
		e.word(f.hashtagPlatform, h.SocialPlatform)
		e.number(f.hashtagID, h.ID)
		e.found(f.hashtagText, h.Text)
	}
	e.content(&it.Content)
	if it.Submission != nil {
		e.submission(it.Submission)
	}
}

func (e *emitter) content(c *Content) {
	f := &contentFields
	if g := c.Geo; g != nil {
		e.word(f.geoType, g.Type)
		e.double(f.latitude, g.Latitude)
		e.double(f.longitude, g.Longitude)
	}
	if l := c.Location; l != nil {
		e.word(f.countryCode, l.CountryCode)
		e.word(f.placeURL, l.URL)
		e.found(f.country, l.Country)
		e.word(f.placeType, l.PlaceType)
		e.word(f.locationType, l.Type)
		e.found(f.fullName, l.FullName)
		e.found(f.placeName, l.Name)
		e.word(f.boundingBox, l.BoundingBox)
		e.word(f.coordinates, l.Coordinates)
	}
	e.word(f.original, c.OriginalURL)
	if a := c.Author; a != nil {
		e.word(f.profileUser, a.ProfileUser)
		e.found(f.profileName, a.ProfileName)
		e.word(f.profileLink, a.ProfileLink)
		e.word(f.avatar, a.Avatar)
		e.word(f.authorPlatformID, a.PlatformID)
		e.word(f.authorPlatform, a.SocialPlatform)
		e.date(f.authorCreatedOn, a.CreatedOn)
		e.found(f.username, a.Username)
		e.integer(f.authorID, a.ID)
	}
	e.found(f.text, c.Text)
	e.date(f.platformCreatedOn, c.SocialPlatformCreatedOn)
	e.word(f.reference, c.PlatformRef)
	if c.SocialPlatform != "" {
		e.word(resolve("content."+platformRef+c.SocialPlatform), c.PlatformRef)
	}
	e.word(f.state, c.ContentState)
	e.word(f.platform, c.SocialPlatform)
	e.date(f.createdOn, c.CreatedOn)
	e.word(f.contentType, c.ContentType)
	if m := c.Media; m != nil {
		e.word(f.mediaURL, m.PlatformURL)
		e.word(f.mediaOriginal, m.OriginalURL)
		e.word(f.mediaBase, m.BaseURL)
		e.word(f.mediaType, m.MediaType)
		e.word(f.mediaPlatform, m.SocialPlatform)
		e.word(f.smallImage, m.SmallImage)
		e.word(f.mediumImage, m.MediumImage)
		e.word(f.largeImage, m.LargeImage)
		e.integer(f.mediaID, m.ID)
	}
}

// submission yields the members of a submission. Their fields are named submission.<key>.
func (e *emitter) submission(raw json.RawMessage) {
	for _, m := range decoded(raw).sorted() {
		if m.kind == text {
			e.word(resolve("submission."+m.name), m.text)
		}
	}
}

func (e *emitter) unit(f *unitFields, u *Unit) {
	e.integer(f.id, &u.ID)
	e.word(f.name, u.Name)
	e.word(f.imageURL, u.ImageURL)
	e.word(f.clickThroughURL, u.ClickThroughURL)
	e.word(f.externalID, u.ExternalID)
	e.raw(f.catalogItem, u.CatalogItem)
	e.raw(f.catalogImageURLSrc, u.CatalogImageURLSrc)
	e.boolean(f.archived, u.Archived)
	e.boolean(f.managed, u.Managed)
	e.date(f.createdOn, u.CreatedOn)
	e.date(f.lastModified, u.LastModified)
	e.number(f.clickLibrary, u.ClickUnitLibrary)
	e.number(f.activateLibrary, u.ActivateUnitLibrary)
}

// These are the fields of the catalogue that Values uses.
var (
	allField   = resolve(query.AllField)
	itemFields = struct {
		id, confirmationSent, approvalStatus, campaign, permalink, createdOn, featured, claimed, configuration query.Field
		hashtagPlatform, hashtagID, hashtagText                                                                query.Field
	}{
		id:               resolve("id"),
		confirmationSent: resolve("entry_confirmation_sent"),
		approvalStatus:   resolve("approval_status"),
		campaign:         resolve("campaign"),
		permalink:        resolve("shortened_permalink"),
		createdOn:        resolve(query.CreatedOn),
		featured:         resolve("featured"),
		claimed:          resolve("claimed"),
		configuration:    resolve("configuration"),
		hashtagPlatform:  resolve("hashtag.social_platform"),
		hashtagID:        resolve("hashtag.id"),
		hashtagText:      resolve("hashtag.hashtag_text"),
	}
	contentFields = struct {
		geoType, latitude, longitude                                                query.Field
		countryCode, placeURL, country, placeType, locationType                     query.Field
		fullName, placeName, boundingBox, coordinates, original                     query.Field
		profileUser, profileName, profileLink, avatar                               query.Field
		authorPlatformID, authorPlatform, authorCreatedOn, username, authorID       query.Field
		text, platformCreatedOn, reference, state, platform, createdOn, contentType query.Field
		mediaURL, mediaOriginal, mediaBase, mediaType, mediaPlatform, mediaID       query.Field
		smallImage, mediumImage, largeImage                                         query.Field
	}{
		geoType:           resolve("content.platform_data.geo_data.type"),
		latitude:          resolve("content.platform_data.geo_data.coordinates.latitude"),
		longitude:         resolve("content.platform_data.geo_data.coordinates.longitude"),
		countryCode:       resolve("content.platform_data.location.country_code"),
		placeURL:          resolve("content.platform_data.location.url"),
		country:           resolve("content.platform_data.location.country"),
		placeType:         resolve("content.platform_data.location.place_type"),
		locationType:      resolve("content.platform_data.location.type"),
		fullName:          resolve("content.platform_data.location.full_name"),
		placeName:         resolve("content.platform_data.location.name"),
		boundingBox:       resolve("content.platform_data.location.bounding_box"),
		coordinates:       resolve("content.platform_data.location.coordinates"),
		original:          resolve("content.platform_data.social_platform_original_url"),
		profileUser:       resolve("content.author.profile.username"),
		profileName:       resolve("content.author.profile.name"),
		profileLink:       resolve("content.author.profile.profile_link"),
		avatar:            resolve("content.author.profile.avatar"),
		authorPlatformID:  resolve("content.author.platform_id"),
		authorPlatform:    resolve("content.author.social_platform"),
		authorCreatedOn:   resolve("content.author.created_on"),
		username:          resolve("content.author.username"),
		authorID:          resolve("content.author.id"),
		text:              resolve("content.text"),
		platformCreatedOn: resolve("content.social_platform_created_on"),
		reference:         resolve("content.platform_ref"),
		state:             resolve("content.content_state"),
		platform:          resolve("content.social_platform"),
		createdOn:         resolve("content.created_on"),
		contentType:       resolve("content.content_type"),
		mediaURL:          resolve("content.media.platform_data.url"),
		mediaOriginal:     resolve("content.media.original_url"),
		mediaBase:         resolve("content.media.base_url"),
		mediaType:         resolve("content.media.mediatype"),
		mediaPlatform:     resolve("content.media.social_platform"),
		mediaID:           resolve("content.media.id"),
		smallImage:        resolve("content.media.media_urls.small_image"),
		mediumImage:       resolve("content.media.media_urls.medium_image"),
		largeImage:        resolve("content.media.media_urls.large_image"),
	}
	attachedFields = newUnitFields("activate_units.")
	defaultFields  = newUnitFields("default_activate_unit.")
)

// unitFields are the fields of a conversion unit, under activate_units or default_activate_unit.
type unitFields struct {
	id, name, imageURL, clickThroughURL, externalID, archived, managed query.Field
	catalogItem, catalogImageURLSrc                                    query.Field
	createdOn, lastModified, clickLibrary, activateLibrary             query.Field
}

func newUnitFields(prefix string) unitFields {
	return unitFields{
		id:                 resolve(prefix + "id"),
		name:               resolve(prefix + "name"),
		imageURL:           resolve(prefix + "image_url"),
		clickThroughURL:    resolve(prefix + "click_through_url"),
		externalID:         resolve(prefix + "external_id"),
		catalogItem:        resolve(prefix + "catalog_item"),
		catalogImageURLSrc: resolve(prefix + "catalog_image_url_src"),
		archived:           resolve(prefix + "archived"),
		managed:            resolve(prefix + "managed"),
		createdOn:          resolve(prefix + "created_on"),
		lastModified:       resolve(prefix + "last_modified"),
		clickLibrary:       resolve(prefix + "click_unit_library"),
		activateLibrary:    resolve(prefix + "activate_unit_library"),
	}
}

// resolve returns a field of the catalogue by its documented name. A test checks that every name used here exists.
func resolve(name string) query.Field {
	f, _ := query.Lookup(name)
	return f
}
