package item

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
)

// Encoded is an item in the form in which libraries store it. It holds all values of the Item, and Append can build the response from it
// without an Item. Decode is the inverse of Encode. The format is:
//
//	byte     encodedFormat
//	byte     flags, which also say which numbers are present
//	varint   the numbers in the order of their constants, zigzag
//	texts    in the order of their constants, each as uvarint length and bytes: JSON, or the inside of a string in JSON; empty for none.
//	         A timestamp can be packed (see appendStamp)
//	tags     uvarint number; for each, namespace and key as texts
//	units    uvarint number; for each, its id as varint, zigzag
type Encoded []byte

// encodedFormat is the first byte of an Encoded. Whenever the format changes, change this byte and also the format of the store.
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

// Encode returns the item in the form in which libraries store it.
func Encode(it *Item) Encoded { return appendEncoded(make([]byte, 0, 1024), it) }

// Digest identifies the content of an item: everything that Encode encodes.
type Digest [sha256.Size]byte

// Digest returns the digest of the item.
func (it *Item) Digest() Digest { return sha256.Sum256(Encode(it)) }

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
			case i == textCreated, i == textContentCreated, i == textPlatformCreated, i == textAuthorCreated:
				return appendStamp(dst, text)
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

// record is a parsed Encoded.
type record struct {
	encoded Encoded
	flags   byte
	numbers [numbers]int64
	// texts has further elements after those of the Encoded, which parse computes.
	texts [allTexts]extent
	// rest is the end of the Encoded: the number of tags, the tags, the number of units, and the ids of the units.
	rest []byte
}

// extent is the place of a text in an Encoded: its offset and its length in bytes. It contains no pointer, so that parse is fast.
type extent struct{ at, length int32 }

// These are the positions of the computed texts in record.texts.
const (
	textTag   = texts + iota // the key of the first tag in HashtagNamespace
	textImage                // textMediaOriginal, or none if the content type is Text
	textNone                 // empty
	allTexts
)

// bytes returns a text.
func (r *record) bytes(i int) []byte {
	t := r.texts[i]
	return r.encoded[t.at : t.at+t.length]
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
	if len(e) < 2 || len(e) > math.MaxInt32 || e[0] != encodedFormat {
		return false
	}
	r.encoded, r.flags = e, e[1]
	in := parser{rest: e[2:]}
	for i := range r.numbers {
		r.numbers[i] = in.number()
	}
	at := len(e) - len(in.rest)
	for i := range texts {
		if at >= len(e) {
			return false
		}
		length, size := int(e[at]), 1
		if length >= 1<<7 { // the length of most texts is one byte
			long, n := binary.Uvarint(e[at:])
			if n <= 0 || long > uint64(len(e)) {
				return false
			}
			length, size = int(long), n
		}
		at += size
		r.texts[i] = extent{int32(at), int32(length)}
		at += length
	}
	if at > len(e) {
		return false
	}
	r.rest, in.rest = e[at:], e[at:]
	r.texts[textTag], r.texts[textImage] = extent{}, r.texts[textMediaOriginal]
	if kind := r.bytes(textType); len(kind) == 0 || string(kind) == Text {
		r.texts[textImage] = extent{}
	}
	for range in.count() {
		namespace, key := in.text(), in.text()
		if r.texts[textTag].length == 0 && string(namespace) == HashtagNamespace {
			r.texts[textTag] = extent{int32(len(e) - len(in.rest) - len(key)), int32(len(key))}
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

// appendMember appends a comma and then a member of an object.
func appendMember(dst []byte, name, value string) []byte {
	dst = append(dst, ',')
	dst = append(AppendString(dst, name), ':')
	return AppendString(dst, value)
}
