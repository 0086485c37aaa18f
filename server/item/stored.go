package item

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// errEncoded means that bytes are not the result of Encode.
var errEncoded = errors.New("the bytes are not an encoded item")

// Decode returns the item of an Encoded. It is the inverse of Encode for items in normal form. An error means that the bytes are damaged.
// The error contains none of the bytes.
func Decode(e Encoded) (*Item, error) {
	var r record
	if !r.parse(e) {
		return nil, errEncoded
	}
	var d unescaper
	var stamp [stampLen]byte
	t := func(i int) string { return d.text(r.bytes(i)) }
	at := func(i int) string { return d.text(unpackStamp(r.bytes(i), &stamp)) }
	it := &Item{
		ID:                    r.numbers[numberID],
		EntryConfirmationSent: r.flags&flagConfirmed != 0,
		ApprovalStatus:        t(textStatus),
		Campaign:              r.pointer(flagCampaign, numberCampaign),
		Submission:            d.raw(r.bytes(textSubmission)),
		ShortenedPermalink:    t(textPermalink),
		ShortCode:             t(textShortCode),
		CreatedOn:             at(textCreated),
		Hashtag:               orNil(Hashtag{SocialPlatform: t(textHashtagPlatform), ID: r.numbers[numberHashtag], Text: t(textHashtag)}),
		Featured:              r.flags&flagFeatured != 0,
		Configuration:         d.raw(r.bytes(textConfiguration)),
		Claimed:               r.flags&flagClaimed != 0,
		Content: Content{
			Location: orNil(Location{
				CountryCode: t(textCountryCode), URL: t(textLocationURL), Country: t(textCountry), PlaceType: t(textPlaceType),
				Type: t(textLocationType), FullName: t(textFullName), Name: t(textName), BoundingBox: t(textBox), Coordinates: t(textCoordinates),
			}),
			OriginalURL: t(textOriginalURL),
			Author: orNil(Author{
				Username: t(textUsername), ProfileName: t(textProfileName), ProfileUser: t(textProfileUser), ProfileLink: t(textProfileLink),
				Avatar: t(textAvatar), PlatformID: t(textPlatformID), SocialPlatform: t(textAuthorPlatform), CreatedOn: at(textAuthorCreated),
				ID: r.pointer(flagAuthorID, numberAuthor),
			}),
			Text:                    t(textText),
			SocialPlatformCreatedOn: at(textPlatformCreated),
			PlatformRef:             t(textRef),
			ContentState:            t(textState),
			SocialPlatform:          t(textPlatform),
			CreatedOn:               at(textContentCreated),
			ContentType:             t(textType),
			Media: orNil(Media{
				PlatformURL: t(textMediaURL), OriginalURL: t(textMediaOriginal), BaseURL: t(textMediaBase), MediaType: t(textMediaType),
				SocialPlatform: t(textMediaPlatform), SmallImage: t(textSmall), MediumImage: t(textMedium), LargeImage: t(textLarge),
				ID: r.pointer(flagMediaID, numberMedia),
			}),
		},
	}
	if len(r.bytes(textLatitude)) > 0 {
		it.Content.Geo = &Geo{Type: t(textGeoType), Latitude: d.float(r.bytes(textLatitude)), Longitude: d.float(r.bytes(textLongitude))}
	}
	rest := parser{rest: r.rest}
	if n := rest.count(); n > 0 {
		it.Tags = make([]Tag, n)
		for i := range it.Tags {
			it.Tags[i] = Tag{Namespace: d.text(rest.text()), Key: d.text(rest.text())}
		}
	}
	if n := rest.count(); n > 0 {
		it.Units = make([]int64, n)
		for i := range it.Units {
			it.Units[i] = rest.number()
		}
	}
	if d.failed {
		return nil, errEncoded
	}
	return it, nil
}

// pointer returns a pointer to a number, or nil if the flag is not set.
func (r *record) pointer(flag byte, number int) *int64 {
	if r.flags&flag == 0 {
		return nil
	}
	n := r.numbers[number]
	return &n
}

// unescaper decodes the texts of an Encoded, which are JSON strings or JSON.
type unescaper struct {
	failed bool
	quoted []byte
}

func (d *unescaper) text(escaped []byte) string {
	if len(escaped) == 0 {
		return ""
	}
	d.quoted = append(append(append(d.quoted[:0], '"'), escaped...), '"')
	r := reader{text: string(d.quoted)}
	s, ok := r.string()
	d.failed = d.failed || !ok || r.at != len(r.text) || !utf8.ValidString(s)
	return s
}

func (d *unescaper) raw(text []byte) json.RawMessage {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	d.failed = d.failed || !json.Valid(text)
	return bytes.Clone(text)
}

func (d *unescaper) float(text []byte) float64 {
	f, err := strconv.ParseFloat(string(text), 64)
	d.failed = d.failed || err != nil || !json.Valid(text)
	return f
}
