package item

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/query"
)

// Encoded is an item in the form in which libraries store it. It holds all values of the Item, and Append can build the response from it
// without an Item. Decode is the inverse of Encode. The format is:
//
//	byte     encodedFormat, which no JSON text begins with
//	byte     flags, which also say which numbers are present
//	varint   the numbers in the order of their constants, zigzag
//	texts    in the order of their constants, each as uvarint length and bytes: JSON, or the inside of a string in JSON; empty for none
//	tags     uvarint number; for each, namespace and key as texts
//	units    uvarint number; for each, its id as varint, zigzag
type Encoded []byte

// encodedFormat is the first byte of an Encoded. Whenever the format changes, change this byte and also the formats of the store and of
// segments.
const encodedFormat = 1

// These are the bits of the flags in an Encoded.
const (
	flagConfirmed = 1 << iota
	flagFeatured
	flagClaimed
	flagCampaign
	flagAuthorID
	flagMediaID
)

// These are the positions of the texts in an Encoded. To add a text, change encodedFormat.
const (
	textStatus = iota
	textCreated
	textPermalink
	textShortCode
	textSubmission    // JSON
	textConfiguration // JSON
	textHashtagPlatform
	textHashtag
	textType
	textText
	textPlatform
	textRef
	textState
	textContentCreated
	textPlatformCreated
	textOriginalURL
	textGeoType
	textLatitude // a number in JSON, or "" without geo_data
	textLongitude
	textCountryCode
	textLocationURL
	textCountry
	textPlaceType
	textLocationType
	textFullName
	textName
	textBox
	textCoordinates
	textUsername
	textProfileUser
	textProfileName
	textProfileLink
	textAvatar
	textPlatformID
	textAuthorPlatform
	textAuthorCreated
	textMediaURL
	textMediaOriginal
	textMediaBase
	textMediaType
	textMediaPlatform
	textSmall
	textMedium
	textLarge
	texts
)

// Slots holds the data of other objects that Append inserts into an encoded item.
type Slots struct {
	// Units are the item's conversion units in order, each encoded by EncodeUnit.
	Units [][]byte
	// Default is the item's default unit, encoded by EncodeUnit. nil means the null unit.
	Default []byte
	// BaseURL is the prefix of the server's own short links, without a trailing slash.
	BaseURL string
}

// nullUnit is the encoded null unit. Do not modify it.
var nullUnit = EncodeUnit(NullUnit())

// Encode returns the item in the form in which libraries store it.
func Encode(it *Item) Encoded { return appendEncoded(make([]byte, 0, 1024), it) }

// appendEncoded appends the result of Encode to dst.
func appendEncoded(dst []byte, it *Item) []byte {
	var (
		c        = &it.Content
		hashtag  = valueOf(it.Hashtag)
		location = valueOf(c.Location)
		author   = valueOf(c.Author)
		media    = valueOf(c.Media)
		geo      = valueOf(c.Geo)
	)
	dst = append(dst, encodedFormat, flagsOf(it))
	for _, n := range [numbers]int64{
		numberID: it.ID, numberCampaign: zero(it.Campaign), numberHashtag: hashtag.ID, numberAuthor: zero(author.ID), numberMedia: zero(media.ID),
	} {
		dst = binary.AppendVarint(dst, n)
	}
	for i, text := range [texts]string{
		textStatus: it.ApprovalStatus, textCreated: it.CreatedOn, textPermalink: it.ShortenedPermalink, textShortCode: it.ShortCode,
		textHashtagPlatform: hashtag.SocialPlatform, textHashtag: hashtag.Text,
		textType: c.ContentType, textText: c.Text, textPlatform: c.SocialPlatform, textRef: c.PlatformRef, textState: c.ContentState,
		textContentCreated: c.CreatedOn, textPlatformCreated: c.SocialPlatformCreatedOn, textOriginalURL: c.OriginalURL, textGeoType: geo.Type,
		textCountryCode: location.CountryCode, textLocationURL: location.URL, textCountry: location.Country, textPlaceType: location.PlaceType,
		textLocationType: location.Type, textFullName: location.FullName, textName: location.Name, textBox: location.BoundingBox,
		textCoordinates: location.Coordinates,
		textUsername:    author.Username, textProfileUser: author.ProfileUser, textProfileName: author.ProfileName,
		textProfileLink: author.ProfileLink, textAvatar: author.Avatar, textPlatformID: author.PlatformID,
		textAuthorPlatform: author.SocialPlatform, textAuthorCreated: author.CreatedOn,
		textMediaURL: media.PlatformURL, textMediaOriginal: media.OriginalURL, textMediaBase: media.BaseURL, textMediaType: media.MediaType,
		textMediaPlatform: media.SocialPlatform, textSmall: media.SmallImage, textMedium: media.MediumImage, textLarge: media.LargeImage,
	} {
		dst = appendSized(dst, func(dst []byte) []byte {
			switch {
			case i == textSubmission && it.Submission != nil:
				return appendRaw(dst, it.Submission)
			case i == textConfiguration && it.Configuration != nil:
				return appendRaw(dst, it.Configuration)
			case i == textLatitude && c.Geo != nil:
				return appendFloat(dst, geo.Latitude)
			case i == textLongitude && c.Geo != nil:
				return appendFloat(dst, geo.Longitude)
			}
			return appendEscaped(dst, text)
		})
	}
	dst = binary.AppendUvarint(dst, uint64(len(it.Tags)))
	for _, t := range it.Tags {
		for _, text := range []string{t.Namespace, t.Key} {
			dst = appendSized(dst, func(dst []byte) []byte { return appendEscaped(dst, text) })
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(it.Units)))
	for _, id := range it.Units {
		dst = binary.AppendVarint(dst, id)
	}
	return dst
}

// valueOf returns *p, or the zero value if p is nil.
func valueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// flagsOf returns the flags of an item.
func flagsOf(it *Item) (flags byte) {
	author, media := it.Content.Author, it.Content.Media
	for _, f := range [...]struct {
		flag byte
		set  bool
	}{
		{flagConfirmed, it.EntryConfirmationSent}, {flagFeatured, it.Featured}, {flagClaimed, it.Claimed}, {flagCampaign, it.Campaign != nil},
		{flagAuthorID, author != nil && author.ID != nil}, {flagMediaID, media != nil && media.ID != nil},
	} {
		if f.set {
			flags |= f.flag
		}
	}
	return flags
}

// appendSized calls add to append a text, and puts the length of that text before it.
func appendSized(dst []byte, add func([]byte) []byte) []byte {
	// Reserve one byte for the length. It is enough for most texts, which are shorter than 128 bytes.
	at := len(dst)
	dst = add(append(dst, 0))
	n := len(dst) - at - 1
	if n < 1<<7 {
		dst[at] = byte(n)
		return dst
	}
	var length [binary.MaxVarintLen64]byte
	return slices.Replace(dst, at, at+1, length[:binary.PutUvarint(length[:], uint64(n))]...)
}

// Append appends the item in response form as JSON. Every member that the specification requires is present and not null. Append fills in
// missing values (docs/http-api.md, "The item"): "Unknown" for places, Point 0/0 for geo_data, 0 for the campaign and ids, and about:blank
// for links. The platform of the hashtag, the author and the media becomes the item's social platform, or "direct" if the item has none. A
// missing name of the author becomes the other known name, or "unknown". For query.Private, the response contains the member submission,
// which is null if the item has none. For query.Public, it omits that member. Append allocates only if dst must grow. It appends nothing if
// e is not the result of Encode.
func (e Encoded) Append(dst []byte, a query.Audience, s Slots) []byte {
	var r record
	if !r.parse(e) {
		return dst
	}
	return r.append(dst, a, s)
}

// record is a parsed Encoded. It shares the memory of the Encoded.
type record struct {
	flags   byte
	numbers [numbers]int64
	texts   [texts][]byte
	// rest is the end of the Encoded: the number of tags, the tags, the number of units, and the ids of the units.
	rest []byte
	// hashtag is the key of the first tag in HashtagNamespace.
	hashtag []byte
}

// These are the positions of the numbers in an Encoded.
const (
	numberID = iota
	numberCampaign
	numberHashtag
	numberAuthor
	numberMedia
	numbers
)

// parse reads an Encoded. It returns false if e is not the result of Encode.
func (r *record) parse(e Encoded) bool {
	if len(e) < 2 || e[0] != encodedFormat {
		return false
	}
	r.flags = e[1]
	in := parser{rest: e[2:]}
	for i := range r.numbers {
		r.numbers[i] = in.number()
	}
	for i := range r.texts {
		r.texts[i] = in.text()
	}
	r.rest, r.hashtag = in.rest, nil
	for range in.count() {
		namespace, key := in.text(), in.text()
		if r.hashtag == nil && string(namespace) == HashtagNamespace {
			r.hashtag = key
		}
	}
	for range in.count() {
		in.number()
	}
	return !in.failed && len(in.rest) == 0
}

// parser reads the parts of an Encoded. After the first invalid part, it returns only zero values.
type parser struct {
	rest   []byte
	failed bool
}

func (p *parser) fail() {
	p.rest, p.failed = nil, true
}

func (p *parser) number() int64 {
	n, size := binary.Varint(p.rest)
	if size <= 0 {
		p.fail()
		return 0
	}
	p.rest = p.rest[size:]
	return n
}

// count reads the number of elements in a list. Each element takes at least one byte.
func (p *parser) count() int {
	n, size := binary.Uvarint(p.rest)
	if size <= 0 || n > uint64(len(p.rest)-size) {
		p.fail()
		return 0
	}
	p.rest = p.rest[size:]
	return int(n)
}

func (p *parser) text() []byte {
	if len(p.rest) > 0 && p.rest[0] < 1<<7 { // the length of most texts is one byte
		if n := int(p.rest[0]) + 1; n <= len(p.rest) {
			text := p.rest[1:n:n]
			p.rest = p.rest[n:]
			return text
		}
	}
	n := p.count()
	text := p.rest[:n:n]
	p.rest = p.rest[n:]
	return text
}

// or returns the first text that is not empty, or the last one if all are empty.
func or(list ...[]byte) []byte {
	for _, t := range list {
		if len(t) > 0 {
			return t
		}
	}
	return list[len(list)-1]
}

// These are fillers. Do not modify them.
var (
	fillBlank   = []byte(blank)
	fillEpoch   = []byte(epoch)
	fillDirect  = []byte(Direct)
	fillPending = []byte(Pending)
	fillActive  = []byte(Active)
	fillKind    = []byte(Text)
	fillPoint   = []byte("Point")
	fillZero    = []byte("0")
	fillCountry = []byte("ZZ")
	fillPlace   = []byte("Unknown")
	fillUnknown = []byte("unknown")
	fillNull    = []byte("null")
)

// append implements Encoded.Append.
func (r *record) append(dst []byte, a query.Audience, s Slots) []byte {
	t := &r.texts
	created := or(t[textCreated], fillEpoch)
	platform := or(t[textPlatform], fillDirect)
	kind := or(t[textType], fillKind)

	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, r.numbers[numberID], 10)
	dst = put(dst, `,"approval_status":"`, or(t[textStatus], fillPending))
	dst = put(dst, `","created_on":"`, created)
	dst = append(dst, `","featured":`...)
	dst = strconv.AppendBool(dst, r.flags&flagFeatured != 0)
	dst = append(dst, `,"campaign":`...)
	dst = strconv.AppendInt(dst, r.numbers[numberCampaign], 10)
	dst = append(dst, `,"claimed":`...)
	dst = strconv.AppendBool(dst, r.flags&flagClaimed != 0)
	dst = append(dst, `,"entry_confirmation_sent":`...)
	dst = strconv.AppendBool(dst, r.flags&flagConfirmed != 0)

	dst = put(dst, `,"hashtag":{"social_platform":"`, or(t[textHashtagPlatform], platform))
	dst = append(dst, `","id":`...)
	dst = strconv.AppendInt(dst, r.numbers[numberHashtag], 10)
	dst = put(dst, `,"hashtag_text":"`, or(t[textHashtag], r.hashtag))
	dst = put(dst, `"},"configuration":`, or(t[textConfiguration], fillNull))

	dst = put(dst, `,"content":{"content_type":"`, kind)
	dst = put(dst, `","text":"`, t[textText])
	dst = put(dst, `","social_platform":"`, platform)
	dst = put(dst, `","`+platformRef, platform)
	dst = put(dst, `":"`, t[textRef])
	dst = put(dst, `","content_state":"`, or(t[textState], fillActive))
	dst = put(dst, `","created_on":"`, or(t[textContentCreated], created))
	dst = put(dst, `","social_platform_created_on":"`, or(t[textPlatformCreated], created))

	dst = put(dst, `","platform_data":{"social_platform_original_url":"`, or(t[textOriginalURL], t[textMediaOriginal], fillBlank))
	dst = put(dst, `","geo_data":{"type":"`, or(t[textGeoType], fillPoint))
	dst = put(dst, `","coordinates":{"latitude":`, or(t[textLatitude], fillZero))
	dst = put(dst, `,"longitude":`, or(t[textLongitude], fillZero))
	dst = put(dst, `}},"location":{"country_code":"`, or(t[textCountryCode], fillCountry))
	dst = put(dst, `","url":"`, or(t[textLocationURL], fillBlank))
	dst = put(dst, `","country":"`, or(t[textCountry], fillPlace))
	dst = put(dst, `","place_type":"`, or(t[textPlaceType], fillUnknown))
	dst = put(dst, `","type":"`, or(t[textLocationType], fillUnknown))
	dst = put(dst, `","full_name":"`, or(t[textFullName], fillPlace))
	dst = put(dst, `","name":"`, or(t[textName], fillPlace))
	dst = put(dst, `","bounding_box":"`, t[textBox])
	dst = put(dst, `","coordinates":"`, t[textCoordinates])

	username := or(t[textUsername], t[textProfileUser], fillUnknown)
	dst = put(dst, `"}},"author":{"username":"`, username)
	dst = put(dst, `","platform_id":"`, t[textPlatformID])
	dst = append(dst, `","id":`...)
	dst = strconv.AppendInt(dst, r.numbers[numberAuthor], 10)
	dst = put(dst, `,"social_platform":"`, or(t[textAuthorPlatform], platform))
	dst = put(dst, `","created_on":"`, or(t[textAuthorCreated], created))
	dst = put(dst, `","profile":{"username":"`, or(t[textProfileUser], username))
	dst = put(dst, `","name":"`, or(t[textProfileName], username))
	dst = put(dst, `","profile_link":"`, or(t[textProfileLink], fillBlank))
	dst = put(dst, `","avatar":"`, or(t[textAvatar], fillBlank))

	original := or(t[textMediaOriginal], fillBlank)
	image := original
	if string(kind) == Text {
		image = fillBlank
	}
	dst = put(dst, `"}},"media":{"mediatype":"`, or(t[textMediaType], kind))
	dst = append(dst, `","id":`...)
	dst = strconv.AppendInt(dst, r.numbers[numberMedia], 10)
	dst = put(dst, `,"social_platform":"`, or(t[textMediaPlatform], platform))
	dst = put(dst, `","original_url":"`, original)
	dst = put(dst, `","base_url":"`, or(t[textMediaBase], original))
	dst = put(dst, `","platform_data":{"url":"`, or(t[textMediaURL], original))
	dst = put(dst, `"},"media_urls":{"small_image":"`, or(t[textSmall], image))
	dst = put(dst, `","medium_image":"`, or(t[textMedium], image))
	dst = put(dst, `","large_image":"`, or(t[textLarge], image))

	dst = r.permalink(dst, s.BaseURL)
	dst = append(dst, `","activate_units":[`...)
	for i, u := range s.Units {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, u...)
	}
	dst = put(dst, `],"default_activate_unit":`, or(s.Default, nullUnit))
	if a == query.Private {
		dst = put(dst, `,"submission":`, or(t[textSubmission], fillNull))
	}
	return append(dst, '}')
}

// permalink appends the imported short link, or the server's own short link if none was imported. It omits the closing quote.
func (r *record) permalink(dst []byte, base string) []byte {
	const lead = `"}}},"shortened_permalink":"`
	imported, code := r.texts[textPermalink], r.texts[textShortCode]
	if len(imported) > 0 || len(code) == 0 {
		return put(dst, lead, or(imported, fillBlank))
	}
	dst = appendEscaped(append(dst, lead...), base)
	return put(dst, ShortLinkPath, code)
}

// ShortLinkPath is the path between the base URL and the short code in a short link.
const ShortLinkPath = "/i/"

// put appends the JSON text lead, and then a value.
func put(dst []byte, lead string, value []byte) []byte { return append(append(dst, lead...), value...) }

// appendMember appends a comma and then a member of an object.
func appendMember(dst []byte, name, value string) []byte {
	dst = append(dst, ',')
	dst = append(AppendString(dst, name), ':')
	return AppendString(dst, value)
}
