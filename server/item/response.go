package item

import (
	"slices"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/query"
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

// part is a part of the response: a constant text, followed by a value.
type part struct {
	lead short
	kind partKind
	// The value of a textPart or a stampPart is the first of these texts that is not empty, or the filler if all are empty. The value of a
	// numberPart is the number from[0], and the value of a flagPart is the flag from[0].
	from   [3]uint8
	filler short
}

type partKind uint8

const (
	textPart  partKind = iota
	stampPart          // like textPart, for a timestamp, which can be packed
	numberPart
	flagPart
)

// short is a constant text in an array of fixed size. Copying the whole array is faster than copying only the text.
type short struct {
	text   [shortRoom]byte
	length int
}

// shortRoom is the capacity of a short in bytes.
const shortRoom = 64

func newShort(s string) (t short) {
	if t.length = copy(t.text[:], s); t.length < len(s) {
		panic("too long for a short: " + s)
	}
	return t
}

func texted(lead, filler string, from ...uint8) part {
	p := part{lead: newShort(lead), filler: newShort(filler), from: [3]uint8{textNone, textNone, textNone}}
	copy(p.from[:], from)
	return p
}

func stamped(lead string, from ...uint8) part {
	p := texted(lead, epoch, from...)
	p.kind = stampPart
	return p
}

func numbered(lead string, from uint8) part {
	return part{lead: newShort(lead), kind: numberPart, from: [3]uint8{from}}
}

func flagged(lead string, flag uint8) part {
	return part{lead: newShort(lead), kind: flagPart, from: [3]uint8{flag}}
}

// The fillers of places.
const (
	fillCountry = "ZZ"
	fillPlace   = "Unknown"
	fillUnknown = "unknown"
)

// parts are the parts of the response up to the short link. They contain the syntax of JSON: texts are already escaped.
var parts = [...]part{
	numbered(`{"id":`, numberID),
	texted(`,"approval_status":"`, Pending, textStatus),
	stamped(`","created_on":"`, textCreated),
	flagged(`","featured":`, flagFeatured),
	numbered(`,"campaign":`, numberCampaign),
	flagged(`,"claimed":`, flagClaimed),
	flagged(`,"entry_confirmation_sent":`, flagConfirmed),

	texted(`,"hashtag":{"social_platform":"`, Direct, textHashtagPlatform, textPlatform),
	numbered(`","id":`, numberHashtag),
	texted(`,"hashtag_text":"`, "", textHashtag, textTag),
	texted(`"},"configuration":`, "null", textConfiguration),

	texted(`,"content":{"content_type":"`, Text, textType),
	texted(`","text":"`, "", textText),
	texted(`","social_platform":"`, Direct, textPlatform),
	texted(`","`+platformRef, Direct, textPlatform),
	texted(`":"`, "", textRef),
	texted(`","content_state":"`, Active, textState),
	stamped(`","created_on":"`, textContentCreated, textCreated),
	stamped(`","social_platform_created_on":"`, textPlatformCreated, textCreated),

	texted(`","platform_data":{"social_platform_original_url":"`, blank, textOriginalURL, textMediaOriginal),
	texted(`","geo_data":{"type":"`, "Point", textGeoType),
	texted(`","coordinates":{"latitude":`, "0", textLatitude),
	texted(`,"longitude":`, "0", textLongitude),
	texted(`}},"location":{"country_code":"`, fillCountry, textCountryCode),
	texted(`","url":"`, blank, textLocationURL),
	texted(`","country":"`, fillPlace, textCountry),
	texted(`","place_type":"`, fillUnknown, textPlaceType),
	texted(`","type":"`, fillUnknown, textLocationType),
	texted(`","full_name":"`, fillPlace, textFullName),
	texted(`","name":"`, fillPlace, textName),
	texted(`","bounding_box":"`, "", textBox),
	texted(`","coordinates":"`, "", textCoordinates),

	texted(`"}},"author":{"username":"`, fillUnknown, textUsername, textProfileUser),
	texted(`","platform_id":"`, "", textPlatformID),
	numbered(`","id":`, numberAuthor),
	texted(`,"social_platform":"`, Direct, textAuthorPlatform, textPlatform),
	stamped(`","created_on":"`, textAuthorCreated, textCreated),
	texted(`","profile":{"username":"`, fillUnknown, textProfileUser, textUsername),
	texted(`","name":"`, fillUnknown, textProfileName, textUsername, textProfileUser),
	texted(`","profile_link":"`, blank, textProfileLink),
	texted(`","avatar":"`, blank, textAvatar),

	texted(`"}},"media":{"mediatype":"`, Text, textMediaType, textType),
	numbered(`","id":`, numberMedia),
	texted(`,"social_platform":"`, Direct, textMediaPlatform, textPlatform),
	texted(`","original_url":"`, blank, textMediaOriginal),
	texted(`","base_url":"`, blank, textMediaBase, textMediaOriginal),
	texted(`","platform_data":{"url":"`, blank, textMediaURL, textMediaOriginal),
	texted(`"},"media_urls":{"small_image":"`, blank, textSmall, textImage),
	texted(`","medium_image":"`, blank, textMedium, textImage),
	texted(`","large_image":"`, blank, textLarge, textImage),
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

// Slack is the capacity that Append needs in addition to the response, in bytes. It is more than the length of all constant texts plus
// shortRoom bytes for each value. The destination needs the space only while Append runs.
const Slack = 5 << 10

// append implements Encoded.Append.
func (r *record) append(dst []byte, a query.Audience, s Slots) []byte {
	// Most texts are short. Copying shortRoom bytes is faster than copying the exact number, and the next copy overwrites the surplus. After
	// a longer text, the free capacity is again at least Slack.
	dst = slices.Grow(dst, Slack)
	out, n := dst[:cap(dst)], len(dst)
	for i := range parts {
		p := &parts[i]
		*(*[shortRoom]byte)(out[n:]) = p.lead.text
		n += p.lead.length
		switch p.kind {
		case textPart, stampPart:
			t := r.texts[p.from[0]]
			if t.length == 0 {
				if t = r.texts[p.from[1]]; t.length == 0 {
					t = r.texts[p.from[2]]
				}
			}
			switch from := r.encoded[t.at:]; {
			case t.length == 0:
				*(*[shortRoom]byte)(out[n:]) = p.filler.text
				n += p.filler.length
			case p.kind == stampPart && isPacked(from[:t.length]):
				putStamp((*[stampLen]byte)(out[n:]), from)
				n += stampLen
			case t.length <= shortRoom && len(from) >= shortRoom:
				*(*[shortRoom]byte)(out[n:]) = [shortRoom]byte(from)
				n += int(t.length)
			default:
				out = slices.Grow(append(out[:n], from[:t.length]...), Slack)
				out, n = out[:cap(out)], len(out)
			}
		case numberPart:
			n = len(strconv.AppendInt(out[:n], r.numbers[p.from[0]], 10))
		case flagPart:
			n = len(strconv.AppendBool(out[:n], r.flags&p.from[0] != 0))
		}
	}
	dst = r.permalink(out[:n], s.BaseURL)
	dst = append(dst, `","activate_units":[`...)
	for i, u := range s.Units {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, u...)
	}
	dst = append(dst, `],"default_activate_unit":`...)
	if s.Default != nil {
		dst = append(dst, s.Default...)
	} else {
		dst = append(dst, nullUnit...)
	}
	if a == query.Private {
		dst = append(dst, `,"submission":`...)
		if submission := r.bytes(textSubmission); len(submission) > 0 {
			dst = append(dst, submission...)
		} else {
			dst = append(dst, "null"...)
		}
	}
	return append(dst, '}')
}

// permalink appends the imported short link, or the server's own short link if none was imported. It omits the closing quote.
func (r *record) permalink(dst []byte, base string) []byte {
	dst = append(dst, `"}}},"shortened_permalink":"`...)
	imported, code := r.bytes(textPermalink), r.bytes(textShortCode)
	switch {
	case len(imported) > 0:
		return append(dst, imported...)
	case len(code) == 0:
		return append(dst, blank...)
	}
	dst = append(appendEscaped(dst, base), ShortLinkPath...)
	return append(dst, code...)
}

// ShortLinkPath is the path between the base URL and the short code in a short link.
const ShortLinkPath = "/i/"
