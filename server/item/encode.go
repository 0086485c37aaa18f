package item

import (
	"cmp"
	"encoding/binary"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/query"
)

// Encoded is an item in response form, with fillers and slots. It is plain bytes that can be stored and mapped: five
// little-endian uint32 (the positions of the slots for the short link, the units and the default unit, and the beginning
// and end of the private part, all relative to the end of these five), then the JSON text without the content of the slots,
// in this order:
//
//	{"id":…,"shortened_permalink":‹short link›,"activate_units":‹units›,"default_activate_unit":‹default›‹,"submission":…›}
//
// The text of an item with an imported permalink contains that permalink, and its first slot is slotless.
type Encoded []byte

const (
	slotLink = iota
	slotUnits
	slotDefault
	privateBegin
	privateEnd
	slots
)

const (
	frame = slots * 4
	// slotless is the position of a slot that the item does not have.
	slotless = 1<<32 - 1
)

// Slots are the data of other objects that Append inserts into an encoded item.
type Slots struct {
	// Units are the item's conversion units in order, each encoded by EncodeUnit.
	Units [][]byte
	// Default is the item's default unit, encoded by EncodeUnit; nil means the null unit.
	Default []byte
	// BaseURL is the prefix of the server's own short links, without a trailing slash.
	BaseURL string
}

// nullUnit is the encoded null unit. It must not be modified.
var nullUnit = EncodeUnit(NullUnit())

// Append appends the item as JSON. For query.Private, it includes the member submission, which is null if the item has none; for
// query.Public, it omits that member. It allocates only if dst must grow.
func (e Encoded) Append(dst []byte, a query.Audience, s Slots) []byte {
	text := e[frame:]
	from := 0
	if at := e.slot(slotLink); at != slotless {
		dst = append(dst, text[:at]...)
		dst = appendEscaped(dst, s.BaseURL)
		from = at
	}
	at := e.slot(slotUnits)
	dst = append(dst, text[from:at]...)
	dst = append(dst, '[')
	for i, u := range s.Units {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, u...)
	}
	dst = append(dst, ']')
	from, at = at, e.slot(slotDefault)
	dst = append(dst, text[from:at]...)
	if s.Default == nil {
		dst = append(dst, nullUnit...)
	} else {
		dst = append(dst, s.Default...)
	}
	from, at = at, e.slot(privateBegin)
	if a == query.Private {
		at = e.slot(privateEnd)
	}
	dst = append(dst, text[from:at]...)
	return append(dst, text[e.slot(privateEnd):]...)
}

// Sound reports whether the slots lie within the text and in order, so that Append can be called. This always holds for the
// result of Encode; bytes from a file may be damaged.
func (e Encoded) Sound() bool {
	if len(e) < frame {
		return false
	}
	from := 0
	for i := range slots {
		at := e.slot(i)
		if i == slotLink && at == slotless {
			continue
		}
		if at < from || at > len(e)-frame {
			return false
		}
		from = at
	}
	return true
}

func (e Encoded) slot(i int) int { return int(binary.LittleEndian.Uint32(e[i*4:])) }

// Encode returns the item in response form, see Encoded. Every member that the specification requires is present and not null. Missing
// values are filled in (docs/http-api.md, "The item"): place "Unknown", geo_data Point 0/0, campaign and ids 0, about:blank for links, the
// item's social platform (or else "direct") for the platform of the hashtag, the author and the media, and the author's known name or else
// "unknown".
func Encode(it *Item) Encoded { return AppendEncoded(make([]byte, 0, frame+2048), it) }

// AppendEncoded appends what Encode returns.
func AppendEncoded(dst []byte, it *Item) []byte {
	e := encoder{it: it, from: len(dst), dst: append(dst, make([]byte, frame)...)}
	e.item()
	return e.dst
}

// encoder appends the members of one item.
type encoder struct {
	it *Item
	// from is the position of the item in dst.
	from int
	dst  []byte
}

// mark sets the position of a slot, or of an end of the private part, to the current position.
func (e *encoder) mark(slot int) { e.put(slot, uint32(len(e.dst)-e.from-frame)) }

func (e *encoder) put(slot int, at uint32) { binary.LittleEndian.PutUint32(e.dst[e.from+slot*4:], at) }

// literal appends text without escaping it.
func (e *encoder) literal(s string) { e.dst = append(e.dst, s...) }

// text appends lead and the first of values that is not empty.
func (e *encoder) text(lead string, values ...string) {
	e.literal(lead)
	e.dst = AppendString(e.dst, cmp.Or(values...))
}

func (e *encoder) integer(lead string, n int64) {
	e.literal(lead)
	e.dst = strconv.AppendInt(e.dst, n, 10)
}

func (e *encoder) boolean(lead string, b bool) {
	e.literal(lead)
	e.dst = strconv.AppendBool(e.dst, b)
}

func (e *encoder) item() {
	it := e.it
	created := cmp.Or(it.CreatedOn, epoch)
	platform := cmp.Or(it.Content.SocialPlatform, Direct)

	e.integer(`{"id":`, it.ID)
	e.text(`,"approval_status":`, it.ApprovalStatus, Pending)
	e.text(`,"created_on":`, created)
	e.boolean(`,"featured":`, it.Featured)
	e.integer(`,"campaign":`, zero(it.Campaign))
	e.boolean(`,"claimed":`, it.Claimed)
	e.boolean(`,"entry_confirmation_sent":`, it.EntryConfirmationSent)
	e.hashtag(platform)
	e.literal(`,"configuration":`)
	e.dst = appendRaw(e.dst, it.Configuration)
	e.content(created, platform)
	e.permalink()
	e.literal(`,"activate_units":`)
	e.mark(slotUnits)
	e.literal(`,"default_activate_unit":`)
	e.mark(slotDefault)
	e.mark(privateBegin)
	e.literal(`,"submission":`)
	e.dst = appendRaw(e.dst, it.Submission)
	e.mark(privateEnd)
	e.literal(`}`)
}

// permalink appends the short link: the imported one, or else the server's own, whose base URL is a slot.
func (e *encoder) permalink() {
	e.literal(`,"shortened_permalink":`)
	if own := e.it.ShortenedPermalink; own != "" || e.it.ShortCode == "" {
		e.text("", own, blank)
		e.put(slotLink, slotless)
		return
	}
	e.literal(`"`)
	e.mark(slotLink)
	e.literal(ShortLinkPath)
	e.dst = appendEscaped(e.dst, e.it.ShortCode)
	e.literal(`"`)
}

// ShortLinkPath is the path between the base URL and the short code in a short link.
const ShortLinkPath = "/i/"

func (e *encoder) hashtag(platform string) {
	var h Hashtag
	if e.it.Hashtag != nil {
		h = *e.it.Hashtag
	}
	if h.Text == "" {
		for _, t := range e.it.Tags {
			if t.Namespace == HashtagNamespace {
				h.Text = t.Key
				break
			}
		}
	}
	e.text(`,"hashtag":{"social_platform":`, h.SocialPlatform, platform)
	e.integer(`,"id":`, h.ID)
	e.text(`,"hashtag_text":`, h.Text)
	e.literal(`}`)
}

func (e *encoder) content(created, platform string) {
	c := &e.it.Content
	kind := cmp.Or(c.ContentType, Text)
	var media Media
	if c.Media != nil {
		media = *c.Media
	}

	e.text(`,"content":{"content_type":`, kind)
	e.text(`,"text":`, c.Text)
	e.text(`,"social_platform":`, platform)
	e.literal(`,`)
	e.dst = append(AppendString(e.dst, platformRef+platform), ':')
	e.text(``, c.PlatformRef)
	e.text(`,"content_state":`, c.ContentState, Active)
	e.text(`,"created_on":`, c.CreatedOn, created)
	e.text(`,"social_platform_created_on":`, c.SocialPlatformCreatedOn, created)
	e.platformData(media)
	e.author(created, platform)
	e.media(media, kind, platform)
	e.literal(`}`)
}

func (e *encoder) platformData(media Media) {
	c := &e.it.Content
	geo := Geo{}
	if c.Geo != nil {
		geo = *c.Geo
	}
	var l Location
	if c.Location != nil {
		l = *c.Location
	}
	e.text(`,"platform_data":{"social_platform_original_url":`, c.OriginalURL, media.OriginalURL, blank)
	e.text(`,"geo_data":{"type":`, geo.Type, "Point")
	e.literal(`,"coordinates":{"latitude":`)
	e.dst = appendFloat(e.dst, geo.Latitude)
	e.literal(`,"longitude":`)
	e.dst = appendFloat(e.dst, geo.Longitude)
	e.text(`}},"location":{"country_code":`, l.CountryCode, "ZZ")
	e.text(`,"url":`, l.URL, blank)
	e.text(`,"country":`, l.Country, "Unknown")
	e.text(`,"place_type":`, l.PlaceType, "unknown")
	e.text(`,"type":`, l.Type, "unknown")
	e.text(`,"full_name":`, l.FullName, "Unknown")
	e.text(`,"name":`, l.Name, "Unknown")
	e.text(`,"bounding_box":`, l.BoundingBox)
	e.text(`,"coordinates":`, l.Coordinates)
	e.literal(`}}`)
}

func (e *encoder) author(created, platform string) {
	var a Author
	if e.it.Content.Author != nil {
		a = *e.it.Content.Author
	}
	username := cmp.Or(a.Username, a.ProfileUser, "unknown")
	e.text(`,"author":{"username":`, username)
	e.text(`,"platform_id":`, a.PlatformID)
	e.integer(`,"id":`, zero(a.ID))
	e.text(`,"social_platform":`, a.SocialPlatform, platform)
	e.text(`,"created_on":`, a.CreatedOn, created)
	e.text(`,"profile":{"username":`, a.ProfileUser, username)
	e.text(`,"name":`, a.ProfileName, username)
	e.text(`,"profile_link":`, a.ProfileLink, blank)
	e.text(`,"avatar":`, a.Avatar, blank)
	e.literal(`}}`)
}

func (e *encoder) media(m Media, kind, platform string) {
	original := cmp.Or(m.OriginalURL, blank)
	image := original
	if kind == Text {
		image = blank
	}
	e.text(`,"media":{"mediatype":`, m.MediaType, kind)
	e.integer(`,"id":`, zero(m.ID))
	e.text(`,"social_platform":`, m.SocialPlatform, platform)
	e.text(`,"original_url":`, original)
	e.text(`,"base_url":`, m.BaseURL, original)
	e.text(`,"platform_data":{"url":`, m.PlatformURL, original)
	e.text(`},"media_urls":{"small_image":`, m.SmallImage, image)
	e.text(`,"medium_image":`, m.MediumImage, image)
	e.text(`,"large_image":`, m.LargeImage, image)
	e.literal(`}}`)
}

// appendMember appends a member of an object after a comma.
func appendMember(dst []byte, name, value string) []byte {
	dst = append(dst, ',')
	dst = append(AppendString(dst, name), ':')
	return AppendString(dst, value)
}
