// Package corpus makes what the benchmarks work on: items, filters, queries and bodies of posts, the same bytes on every
// machine and with every Go release. Items are shaped and sized like those of a real library (2.3 KiB of JSON, ten unique
// strings each, texts in seven languages whose words follow Zipf's law, dates over three years); any of them can be made
// without the others.
//
// It may import the standard library alone.
package corpus

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"time"
)

// The kinds of things, so that equal indices of different kinds do not make equal choices.
const (
	kindItem uint64 = iota + 1
	kindWord
	kindFilter
	kindBoolean
	kindRanked
	kindPost
)

// Corpus makes things; it is not safe for concurrent use.
type Corpus struct {
	texts     *texts
	hashtags  Zipf
	campaigns Zipf
	buffer    []byte
}

// New returns the corpus.
func New() *Corpus {
	return &Corpus{texts: newTexts(), hashtags: NewZipf(len(hashtags)), campaigns: NewZipf(campaigns)}
}

// How many campaigns items belong to, and how many people they are from.
const (
	campaigns = 200
	authors   = 40000
)

// FirstID is the id of item 0; item i has FirstID + i.
const FirstID = 100000

var (
	platforms = []string{"instagram", "instagram", "instagram", "twitter", "twitter", "facebook", "direct", "vinetweet", "tumblr"}
	states    = []string{"app", "app", "app", "app", "app", "app", "app", "pen", "pen", "rej"}
	kinds     = []string{"image", "image", "image", "text", "video"}
	interests = []string{"foodie", "music", "beach", "style", "sunset", "travel", "runner", "coffee", "art", "nature", "photo", "city"}
	moods     = []string{"funny", "bold", "bright", "dark", "calm", "happy"}
	tagged    = []string{"approved", "homepage", "hero", "lookbook", "summer", "spring", "autumn", "winter", "staffpick", "giveaway", "reuse", "press", "rights", "banner", "legal"}
	hashtags  = []string{
		"summer", "sale", "ootd", "travel", "foodie", "fitness", "sunset", "nofilter", "love", "music", "nature", "art", "style", "beach", "newyear",
		"photo", "instagood", "fashion", "happy", "cute", "tbt", "beautiful", "selfie", "friends", "smile", "family", "life", "fun", "food", "coffee",
		"yoga", "running", "mountains", "streetwear", "vintage", "makeup", "skincare", "vegan", "brunch", "cocktails", "wedding", "puppy", "catlife",
		"roadtrip", "festival", "skate", "surf", "snow", "garden", "diy",
	}
	places = []place{
		{"Mumbai", "Mumbai, India", "India", "IN", 19.07, 72.87}, {"Los Angeles", "Los Angeles, CA", "United States", "US", 34.05, -118.24},
		{"Berlin", "Berlin, Germany", "Germany", "DE", 52.52, 13.40}, {"São Paulo", "São Paulo, Brazil", "Brazil", "BR", -23.55, -46.63},
		{"New York", "Brooklyn, NY", "United States", "US", 40.68, -73.94}, {"Paris", "Paris, France", "France", "FR", 48.85, 2.35},
		{"Tokyo", "Shibuya-ku, Tokyo", "Japan", "JP", 35.66, 139.70}, {"Sydney", "Sydney, New South Wales", "Australia", "AU", -33.87, 151.21},
		{"London", "Camden Town, London", "United Kingdom", "GB", 51.54, -0.14}, {"Manhattan", "Manhattan, NY", "United States", "US", 40.78, -73.97},
		{"Madrid", "Madrid, Spain", "Spain", "ES", 40.42, -3.70}, {"Lagos", "Lagos, Nigeria", "Nigeria", "NG", 6.52, 3.38},
		{"Cairo", "Cairo, Egypt", "Egypt", "EG", 30.04, 31.24}, {"Seoul", "Gangnam-gu, Seoul", "South Korea", "KR", 37.50, 127.04},
		{"Toronto", "Toronto, Ontario", "Canada", "CA", 43.65, -79.38}, {"Moscow", "Moscow, Russia", "Russia", "RU", 55.75, 37.62},
	}
)

type place struct {
	name, full, country, code string
	latitude, longitude       float64
}

// last is when the newest items were made; the oldest are three years older, and two thirds of all are of the last year.
var last = time.Date(2026, 11, 15, 20, 0, 0, 0, time.UTC)

const span = 3 * 365 * 24 * time.Hour

// units is how many conversion units there are; two items in seven carry one.
const units = 50

// Write writes the items from first on, count of them, as NDJSON, in the item's full shape and ready for a bulk import.
func (c *Corpus) Write(w io.Writer, first, count int) error {
	out := bufio.NewWriterSize(w, 1<<20)
	for i := first; i < first+count; i++ {
		c.buffer = append(c.AppendItem(c.buffer[:0], i), '\n')
		if _, err := out.Write(c.buffer); err != nil {
			return fmt.Errorf("write item %d: %w", i, err)
		}
	}
	return out.Flush()
}

// AppendItem appends item i as one line of JSON without its end.
func (c *Corpus) AppendItem(out []byte, i int) []byte {
	d := throw(kindItem, uint64(i))
	id := int64(FirstID + i)
	platform, kind, at := pick(d, platforms), pick(d, kinds), pick(d, places)
	age := d.share()
	created := last.Add(-time.Duration(float64(span) * (age * age * age)))
	posted := created.Add(-time.Duration(d.roll(7*24*3600)) * time.Second)
	// Few authors post much, most of them once or twice.
	rank := d.share()
	author := int64(rank * rank * authors)
	interest := interests[author%int64(len(interests))]
	user := interest + "_" + strconv.FormatInt(author, 10)
	tag := hashtags[c.hashtags.draw(d)]

	str := func(name, value string) { out = append(append(append(append(out, name...), '"'), value...), '"') }
	num := func(name string, n int64) { out = strconv.AppendInt(append(out, name...), n, 10) }
	yes := func(name string, b bool) { out = strconv.AppendBool(append(out, name...), b) }
	url := func(name, base string, n int64, end string) {
		out = append(append(append(out, name...), '"'), base...)
		out = append(append(strconv.AppendInt(out, n, 10), end...), '"')
	}
	date := func(name string, t time.Time) {
		out = append(t.AppendFormat(append(append(out, name...), '"'), time.RFC3339), '"')
	}
	float := func(name string, f float64) { out = strconv.AppendFloat(append(out, name...), f, 'f', -1, 64) }

	out = append(out, `{"activate_units":[`...)
	unit := int64(0)
	if d.roll(7) < 2 {
		unit = int64(d.roll(units))
		out = appendUnit(out, unit)
	}
	str(`],"approval_status":`, pick(d, states))
	num(`,"campaign":`, int64(1+c.campaigns.draw(d)))
	date(`,"configuration":null,"content":{"author":{"created_on":"2015","id":`+strconv.FormatInt(author, 10)+`,"platform_id":"`+strconv.FormatInt(author, 10)+`","profile":{"avatar":"https://media.example.com/a/`+user+`.jpg","name":"`+user+`","profile_link":"https://`+platform+`.example.com/`+user+`","username":"`+user+`"},"social_platform":"`+platform+`","username":"`+user+`"},"content_state":"active","content_type":"`+kind+`","created_on":`, created)
	url(`,"media":{"base_url":`, "https://media.example.com/", id, "/")
	num(`,"id":`, id)
	url(`,"media_urls":{"large_image":`, "https://media.example.com/", id, "/l.jpg")
	url(`,"medium_image":`, "https://media.example.com/", id, "/m.jpg")
	url(`,"small_image":`, "https://media.example.com/", id, "/s.jpg")
	str(`},"mediatype":`, kind)
	url(`,"original_url":`, "https://media.example.com/", id, "/o.jpg")
	url(`,"platform_data":{"url":`, "https://media.example.com/", id, "/")
	str(`},"social_platform":`, platform)
	float(`},"platform_data":{"geo_data":{"coordinates":{"latitude":`, at.latitude)
	float(`,"longitude":`, at.longitude)
	out = append(out, `},"type":"Point"},"location":{"bounding_box":"","coordinates":"`...)
	float("", at.latitude)
	float(",", at.longitude)
	str(`","country":`, at.country)
	str(`,"country_code":`, at.code)
	str(`,"full_name":`, at.full)
	str(`,"name":`, at.name)
	str(`,"place_type":"city","type":"place","url":`, "https://places.example.com/"+at.code+"/"+at.name)
	url(`},"social_platform_original_url":`, "https://"+platform+".example.com/p/", id, "")
	url(`},"platform_ref:`+platform+`":`, "", id, "")
	str(`,"social_platform":`, platform)
	date(`,"social_platform_created_on":`, posted)
	out = append(out, `,"text":"`...)
	out = c.texts.appendText(out, d)
	date(`"},"created_on":`, created)
	out = appendUnit(append(out, `,"default_activate_unit":`...), unit)
	yes(`,"entry_confirmation_sent":`, d.chance(50))
	yes(`,"featured":`, d.chance(3))
	str(`,"hashtag":{"hashtag_text":`, tag)
	str(`,"id":7,"social_platform":`, platform)
	num(`},"id":`, id)
	out = append(out, `,"shortened_permalink":"https://vtr.example/`...)
	out = append(strconv.AppendInt(out, id, 16), `","submission":`...)
	if d.roll(9) == 0 {
		str(`{"consent":"yes","email":`, user+"@mail.example.org")
		str(`,"username":`, user)
		out = append(out, '}')
	} else {
		out = append(out, "null"...)
	}
	str(`,"tags":{"hashtags":[{"key":`, tag)
	out = append(out, `}],"marketer_tags":[`...)
	// Twice the same tag is the same mapping; a tag further down the list is rarer.
	for n, count := 0, d.roll(4); n < count; n++ {
		if n > 0 {
			out = append(out, ',')
		}
		str(`{"key":`, tagged[min(d.roll(len(tagged)), d.roll(len(tagged)))])
		out = append(out, '}')
	}
	out = append(out, `],"vibe":[`...)
	if d.chance(36) {
		str(`{"key":`, pick(d, moods))
		out = append(out, '}')
	}
	return append(out, "]}}"...)
}

// appendUnit appends conversion unit id: always the same under one id.
func appendUnit(out []byte, id int64) []byte {
	n := strconv.FormatInt(id, 10)
	out = append(out, `{"activate_unit_library":1,"archived":`...)
	out = strconv.AppendBool(out, id%10 == 0)
	out = append(out, `,"associated_contents":[],"catalog_image_url_src":null,"catalog_item":null,"click_through_url":"https://shop.example.com/p/`+n+
		`","click_unit_library":1,"created_on":"2024-01-01T08:00:00Z","external_id":"SKU-`+n+`","id":`+strconv.FormatInt(id+1, 10)+
		`,"image_url":"https://cdn.example.com/units/`+n+`.png","last_modified":"2024-01-01T08:00:00Z","managed":false,"name":"Shop the look `+n+`"}`...)
	return out
}

// AppendPost appends the body of post i: what an app sends to add one item.
func (c *Corpus) AppendPost(out []byte, i int) []byte {
	d := throw(kindPost, uint64(i))
	out = append(out, `{"content_type":"image","approval_status":"app","content_url":"https://uploads.example.com/`...)
	out = append(strconv.AppendInt(out, int64(i), 10), `.jpg","caption":"`...)
	out = c.texts.appendText(out, d)
	out = append(out, `","author":{"username":"`...)
	user := pick(d, interests) + "_" + strconv.Itoa(d.roll(authors))
	return append(out, user+`","author_ref":"`+user+`"}}`...)
}
