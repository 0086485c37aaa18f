package item

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// platformRef is the prefix in the name of the content's member that holds the reference on the platform (specification, Content object).
// The name of the platform follows the prefix.
const platformRef = "platform_ref:"

// Line is the result of parsing one line of a bulk import.
type Line struct {
	Item *Item
	// Units holds the conversion units that the line describes with more than an id. A unit with a name is created if the property does not
	// have it. A reference has only an id and Managed true, and may dangle until its manifest is applied. If an id in Item.Units is not in
	// Units, the property must already have the unit.
	Units []Unit
}

// ParseLine parses one line of a bulk import. If the member content is an object, the line is a whole item as Marshal writes it, and
// ParseLine is the inverse of Marshal. Any other line is a body for ParseAdd, which may also have an id.
//
// In a whole item, content.content_type is required and everything else is optional. null and "" count as absent. ParseLine ignores unknown
// members, and also default_activate_unit, which follows from the other members. The default of created_on is the current time, and the
// default of approval_status is pending. Errors are *InvalidError with the path of the member.
func ParseLine(line []byte, o ParseOptions) (Line, error) {
	d := &decoder{}
	s := scratches.Get().(*scratch)
	defer s.release()
	body, err := d.root(decodeInto(s, line))
	if err != nil {
		return Line{}, err
	}
	if !body.has("content") {
		id := body.id()
		it, err := body.added(o)
		if err != nil {
			return Line{}, err
		}
		it.ID = id
		return Line{Item: it}, nil
	}
	it, units := body.item()
	if it.Content.ContentType == "" {
		d.malformed("content.content_type", "is required: image, video or text")
	}
	if err := d.failure(); err != nil {
		return Line{}, err
	}
	if it.ApprovalStatus == "" {
		it.ApprovalStatus = Pending
	}
	if it.CreatedOn == "" {
		it.CreatedOn = stamp(o.now())
	}
	if it.ShortCode == "" && it.ShortenedPermalink == "" {
		if it.ShortCode, err = NewShortCode(o.Rand); err != nil {
			return Line{}, err
		}
	}
	return Line{Item: it, Units: units}, nil
}

// LineID returns the id in a line, or 0 if the line has none. The item of a line without an id gets a new id. LineID checks nothing else in
// the line. It returns an error if the line is not a JSON object or its id is not valid. ParseLine refuses such a line too.
func LineID(line []byte) (int64, error) {
	d := &decoder{}
	s := scratches.Get().(*scratch)
	defer s.release()
	body, err := d.root(decodeInto(s, line))
	if err != nil {
		return 0, err
	}
	return body.id(), d.failure()
}

// Unmarshal parses the output of Marshal. Unlike ParseLine, it checks no limits, requires no members and fills in no values, because it
// reads only items that a store accepted before. Its errors are *InvalidError, and mean that the stored bytes are damaged.
func Unmarshal(stored []byte) (*Item, error) {
	d := &decoder{stored: true}
	s := scratches.Get().(*scratch)
	defer s.release()
	body, err := d.root(decodeInto(s, stored))
	if err != nil {
		return nil, err
	}
	it, _ := body.item()
	if err := d.failure(); err != nil {
		return nil, err
	}
	return it, nil
}

// Marshal returns the item as one line of an export, without the newline: the item shape without fillers, and the members tags, claimed and
// short_code. units contains the item's own units, except those that the property does not have. Marshal writes the missing ones as managed
// units with only an id. ParseLine is the inverse of Marshal.
func Marshal(it *Item, units []Unit) []byte {
	w := objectWriter{dst: make([]byte, 0, 2048)}
	w.dst = append(w.dst, '{')
	w.number("id", it.ID)
	w.boolean("entry_confirmation_sent", it.EntryConfirmationSent)
	w.text("approval_status", it.ApprovalStatus)
	w.pointer("campaign", it.Campaign)
	w.raw("submission", it.Submission)
	w.text("shortened_permalink", it.ShortenedPermalink)
	w.text("short_code", it.ShortCode)
	w.text("created_on", it.CreatedOn)
	if h := it.Hashtag; h != nil {
		w.open("hashtag")
		w.text("social_platform", h.SocialPlatform)
		w.number("id", h.ID)
		w.text("hashtag_text", h.Text)
		w.close()
	}
	w.boolean("featured", it.Featured)
	w.raw("configuration", it.Configuration)
	w.boolean("claimed", it.Claimed)
	w.open("content")
	it.Content.marshal(&w)
	w.close()
	w.tags(it.Tags)
	if len(it.Units) > 0 {
		w.key("activate_units")
		for i, id := range it.Units {
			w.dst = append(w.dst, "[,"[min(i, 1)])
			if at := slices.IndexFunc(units, func(u Unit) bool { return u.ID == id }); at >= 0 {
				w.dst = units[at].marshal(w.dst)
			} else {
				w.dst = append(strconv.AppendInt(append(w.dst, `{"id":`...), id, 10), `,"managed":true}`...)
			}
		}
		w.dst = append(w.dst, ']')
	}
	return append(w.dst, '}')
}

func (c *Content) marshal(w *objectWriter) {
	if c.Geo != nil || c.Location != nil || c.OriginalURL != "" {
		w.open("platform_data")
		if c.Geo != nil {
			c.Geo.marshal(w)
		}
		if c.Location != nil {
			c.Location.marshal(w)
		}
		w.text("social_platform_original_url", c.OriginalURL)
		w.close()
	}
	if c.Author != nil {
		c.Author.marshal(w)
	}
	w.text("text", c.Text)
	w.text("social_platform_created_on", c.SocialPlatformCreatedOn)
	if c.PlatformRef != "" {
		w.keyOf(platformRef + c.SocialPlatform)
		w.dst = AppendString(w.dst, c.PlatformRef)
	}
	w.text("content_state", c.ContentState)
	w.text("social_platform", c.SocialPlatform)
	w.text("created_on", c.CreatedOn)
	w.text("content_type", c.ContentType)
	if c.Media != nil {
		c.Media.marshal(w)
	}
}

func (g *Geo) marshal(w *objectWriter) {
	w.open("geo_data")
	w.text("type", g.Type)
	w.open("coordinates")
	w.key("latitude")
	w.dst = appendFloat(w.dst, g.Latitude)
	w.key("longitude")
	w.dst = appendFloat(w.dst, g.Longitude)
	w.close()
	w.close()
}

func (l *Location) marshal(w *objectWriter) {
	w.open("location")
	w.text("country_code", l.CountryCode)
	w.text("url", l.URL)
	w.text("country", l.Country)
	w.text("place_type", l.PlaceType)
	w.text("type", l.Type)
	w.text("full_name", l.FullName)
	w.text("name", l.Name)
	w.text("bounding_box", l.BoundingBox)
	w.text("coordinates", l.Coordinates)
	w.close()
}

func (a *Author) marshal(w *objectWriter) {
	w.open("author")
	if a.ProfileUser != "" || a.ProfileName != "" || a.ProfileLink != "" || a.Avatar != "" {
		w.open("profile")
		w.text("username", a.ProfileUser)
		w.text("name", a.ProfileName)
		w.text("profile_link", a.ProfileLink)
		w.text("avatar", a.Avatar)
		w.close()
	}
	w.text("platform_id", a.PlatformID)
	w.text("social_platform", a.SocialPlatform)
	w.text("created_on", a.CreatedOn)
	w.text("username", a.Username)
	w.pointer("id", a.ID)
	w.close()
}

func (m *Media) marshal(w *objectWriter) {
	w.open("media")
	if m.PlatformURL != "" {
		w.open("platform_data")
		w.text("url", m.PlatformURL)
		w.close()
	}
	w.text("original_url", m.OriginalURL)
	w.text("base_url", m.BaseURL)
	w.text("mediatype", m.MediaType)
	w.text("social_platform", m.SocialPlatform)
	if m.SmallImage != "" || m.MediumImage != "" || m.LargeImage != "" {
		w.open("media_urls")
		w.text("small_image", m.SmallImage)
		w.text("medium_image", m.MediumImage)
		w.text("large_image", m.LargeImage)
		w.close()
	}
	w.pointer("id", m.ID)
	w.close()
}

// tags writes {namespace: [{"key": key}, …], …}. The argument is sorted by namespace.
func (w *objectWriter) tags(tags []Tag) {
	if len(tags) == 0 {
		return
	}
	w.open("tags")
	for i := 0; i < len(tags); {
		namespace := tags[i].Namespace
		w.keyOf(namespace)
		w.dst = append(w.dst, '[')
		for first := i; i < len(tags) && tags[i].Namespace == namespace; i++ {
			if i > first {
				w.dst = append(w.dst, ',')
			}
			w.dst = append(w.dst, `{"key":`...)
			w.dst = append(AppendString(w.dst, tags[i].Key), '}')
		}
		w.dst = append(w.dst, ']')
	}
	w.close()
}

// objectWriter appends the members of JSON objects and omits empty ones.
type objectWriter struct{ dst []byte }

// key begins a member whose name needs no escaping.
func (w *objectWriter) key(name string) {
	w.next()
	w.dst = append(append(append(w.dst, '"'), name...), '"', ':')
}

// keyOf begins a member with any name.
func (w *objectWriter) keyOf(name string) {
	w.next()
	w.dst = append(AppendString(w.dst, name), ':')
}

func (w *objectWriter) next() {
	if w.dst[len(w.dst)-1] != '{' {
		w.dst = append(w.dst, ',')
	}
}

func (w *objectWriter) open(name string) {
	w.key(name)
	w.dst = append(w.dst, '{')
}

func (w *objectWriter) close() { w.dst = append(w.dst, '}') }

func (w *objectWriter) text(name, value string) {
	if value != "" {
		w.key(name)
		w.dst = AppendString(w.dst, value)
	}
}

// number writes a number unless it is 0.
func (w *objectWriter) number(name string, value int64) {
	if value != 0 {
		w.key(name)
		w.dst = strconv.AppendInt(w.dst, value, 10)
	}
}

// pointer writes a number unless it is nil.
func (w *objectWriter) pointer(name string, value *int64) {
	if value != nil {
		w.key(name)
		w.dst = strconv.AppendInt(w.dst, *value, 10)
	}
}

func (w *objectWriter) boolean(name string, value bool) {
	w.key(name)
	w.dst = strconv.AppendBool(w.dst, value)
}

func (w *objectWriter) raw(name string, value json.RawMessage) {
	if value != nil {
		w.key(name)
		w.dst = appendRaw(w.dst, value)
	}
}

// item reads a whole item, as Marshal writes it. The ids of hashtags, authors and media come from other systems, and can exceed MaxID.
func (o object) item() (*Item, []Unit) {
	it := &Item{
		ID:                    o.id(),
		EntryConfirmationSent: o.boolean("entry_confirmation_sent"),
		ApprovalStatus:        o.oneOf("approval_status", Approved, Rejected, Pending),
		Campaign:              o.integer("campaign", MaxID),
		Submission:            o.submission(),
		ShortenedPermalink:    o.link("shortened_permalink"),
		ShortCode:             o.shortCode(),
		CreatedOn:             o.timestamp("created_on"),
		Featured:              o.boolean("featured"),
		Configuration:         o.raw("configuration"),
		Claimed:               o.boolean("claimed"),
		Content:               o.child("content").content(),
		Tags:                  o.tags(),
	}
	hashtag := o.child("hashtag")
	it.Hashtag = orNil(Hashtag{
		SocialPlatform: hashtag.word("social_platform"),
		ID:             zero(hashtag.integer("id", math.MaxInt64)),
		Text:           hashtag.word("hashtag_text"),
	})
	ids, units := o.units()
	it.Units = ids
	return it, units
}

// content reads the content object.
func (o object) content() Content {
	platform := o.child("platform_data")
	c := Content{
		Geo:                     platform.child("geo_data").geo(),
		Location:                platform.child("location").location(),
		OriginalURL:             platform.link("social_platform_original_url"),
		Author:                  o.child("author").author(),
		Text:                    o.text("text", MaxText),
		SocialPlatformCreatedOn: o.timestamp("social_platform_created_on"),
		ContentState:            o.word("content_state"),
		SocialPlatform:          o.word("social_platform"),
		CreatedOn:               o.timestamp("created_on"),
		ContentType:             o.oneOf("content_type", Image, Video, Text),
		Media:                   o.child("media").media(),
	}
	// The reference for the content's own platform takes precedence. If the object has no such reference, use the first reference in order
	// of name. Content without a platform gets the platform in the name of that reference.
	name := platformRef + c.SocialPlatform
	if !o.has(name) {
		name = ""
		for _, m := range o.sorted() {
			if strings.HasPrefix(m.name, platformRef) && m.there() {
				name = m.name
				break
			}
		}
	}
	if name != "" {
		c.PlatformRef = o.word(name)
		if c.SocialPlatform == "" && c.PlatformRef != "" {
			c.SocialPlatform = strings.TrimPrefix(name, platformRef)
		}
	}
	return c
}

// geo reads geo_data. It returns nil if there are no coordinates, even if there is a type.
func (o object) geo() *Geo {
	g := Geo{Type: o.word("type")}
	coordinates := o.child("coordinates")
	g.Latitude = coordinates.coordinate("latitude", 90)
	g.Longitude = coordinates.coordinate("longitude", 180)
	switch latitude, longitude := coordinates.has("latitude"), coordinates.has("longitude"); {
	case !latitude && !longitude:
		return nil
	case !latitude || !longitude:
		o.unacceptable(coordinates.path, "must have both latitude and longitude")
	}
	return &g
}

func (o object) location() *Location {
	return orNil(Location{
		CountryCode: o.word("country_code"),
		URL:         o.link("url"),
		Country:     o.word("country"),
		PlaceType:   o.word("place_type"),
		Type:        o.word("type"),
		FullName:    o.word("full_name"),
		Name:        o.word("name"),
		BoundingBox: o.word("bounding_box"),
		Coordinates: o.word("coordinates"),
	})
}

func (o object) author() *Author {
	profile := o.child("profile")
	return orNil(Author{
		Username:       o.word("username"),
		ProfileName:    profile.word("name"),
		ProfileUser:    profile.word("username"),
		ProfileLink:    profile.link("profile_link"),
		Avatar:         profile.link("avatar"),
		PlatformID:     o.word("platform_id"),
		SocialPlatform: o.word("social_platform"),
		CreatedOn:      o.timestamp("created_on"),
		ID:             o.integer("id", math.MaxInt64),
	})
}

func (o object) media() *Media {
	urls := o.child("media_urls")
	return orNil(Media{
		PlatformURL:    o.child("platform_data").link("url"),
		OriginalURL:    o.link("original_url"),
		BaseURL:        o.link("base_url"),
		MediaType:      o.word("mediatype"),
		SocialPlatform: o.word("social_platform"),
		SmallImage:     urls.link("small_image"),
		MediumImage:    urls.link("medium_image"),
		LargeImage:     urls.link("large_image"),
		ID:             o.integer("id", math.MaxInt64),
	})
}

// shortCode reads the code of the server's own short link.
func (o object) shortCode() string {
	code := o.word("short_code")
	if len(code) > MaxShortCode || strings.Trim(code, base62) != "" {
		o.unacceptable(o.at("short_code"), "must consist of at most %d letters and digits", MaxShortCode)
	}
	return code
}

// orNil returns a pointer to v, or nil if v is the zero value.
func orNil[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
