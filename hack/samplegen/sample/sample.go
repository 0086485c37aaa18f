// Package sample makes sample content: items in the shape of an import line, in nine languages, about eight themes.
//
// The content is a function of nothing: the same bytes on every machine, every time. Ids count from FirstID, so that
// manifests can name items. All of it is made up; addresses are those of example domains.
package sample

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// FirstID is the id of the first item; the others follow without a gap.
	FirstID = 100001
	// Default is the number of items in the sample of a local run.
	Default = 2000
)

// Items are created over the two years before until, the oldest first.
var until = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)

const period = 2 * 365 * 24 * time.Hour

// Write writes n items as NDJSON, one import line each.
func Write(w io.Writer, n int) error {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for i := range n {
		if err := encoder.Encode(makeItem(i, n)); err != nil {
			return fmt.Errorf("encode item %d: %w", FirstID+i, err)
		}
	}
	return out.Flush()
}

// object is a JSON object; its members are encoded in the order of their names.
type object = map[string]any

// makeItem makes the item with the index i of n. Items of one platform, state or language lie spread over the whole
// period, and everything that a filter can ask for is there many times.
func makeItem(i, n int) object {
	d := &dice{state: uint64(i+1) * 0x5851f42d4c957f2d}
	id := FirstID + i
	lang := pickLanguage(d)
	about := theme(d.roll(int(themes)))
	platform := pick(d, []string{"instagram", "instagram", "instagram", "twitter", "twitter", "facebook", "tumblr", "vinetweet", "direct", "direct"})
	contentType := pick(d, []string{"image", "image", "image", "image", "image", "video", "video", "text", "text"})
	where := pick(d, lang.places)
	posted := until.Add(-period + period/time.Duration(n)*time.Duration(i) + time.Duration(d.roll(3600))*time.Second)
	created := posted.Add(time.Duration(1+d.roll(90)) * time.Minute)

	hashtags := []string{pick(d, commonHashtags[about])}
	if other := pick(d, commonHashtags[about]); other != hashtags[0] {
		hashtags = append(hashtags, other)
	}
	text := caption(d, lang, about, where, hashtags)
	tags := object{
		"hashtags": keys(hashtags...),
		"lang":     keys(lang.code),
		"theme":    keys(themeKeys[about]),
	}
	if d.chance(12) {
		tags["marketer_tags"] = keys("summer")
	}

	author := makeAuthor(d, lang, about, platform)
	content := object{
		"author":                     author,
		"content_state":              "active",
		"content_type":               contentType,
		"created_on":                 stamp(created),
		"platform_data":              makePlatformData(d, where, platform, id),
		"platform_ref:" + platform:   strconv.Itoa(id),
		"social_platform":            platform,
		"social_platform_created_on": stamp(posted),
		"text":                       text,
	}
	if contentType != "text" {
		content["media"] = makeMedia(contentType, platform, id)
	}

	item := object{
		"approval_status":         pickStatus(d),
		"campaign":                1 + d.roll(12),
		"claimed":                 false,
		"content":                 content,
		"created_on":              stamp(created),
		"entry_confirmation_sent": d.chance(50),
		"featured":                d.chance(6),
		"hashtag":                 object{"hashtag_text": hashtags[0], "id": int(about)*10 + 1, "social_platform": platform},
		"id":                      id,
		"tags":                    tags,
	}
	if platform == "direct" {
		// What was posted through the interface came with the sender's particulars.
		username := author["username"].(string)
		item["claimed"] = true
		item["submission"] = object{"username": username, "email": username + "@mail.example.org", "consent": "yes"}
	}
	return item
}

// themeKeys are the keys by which the tags of the namespace theme name the themes.
var themeKeys = [themes]string{"beach", "coffee", "hiking", "running", "streetfood", "concert", "pets", "city"}

// languageCodes are the codes of the languages, in their order.
func languageCodes() []string {
	codes := make([]string, len(languages))
	for i := range languages {
		codes[i] = languages[i].code
	}
	return codes
}

func pickLanguage(d *dice) *language {
	left := d.roll(100)
	for i := range languages {
		if left -= languages[i].share; left < 0 {
			return &languages[i]
		}
	}
	return &languages[0]
}

// pickStatus approves most items, as a library that is looked after has it.
func pickStatus(d *dice) string {
	switch roll := d.roll(100); {
	case roll < 74:
		return "app"
	case roll < 90:
		return "pen"
	default:
		return "rej"
	}
}

// caption makes the text of an item.
func caption(d *dice, lang *language, about theme, where place, hashtags []string) string {
	fill := strings.NewReplacer("{place}", where.native, "{when}", pick(d, lang.whens))
	var text strings.Builder
	text.WriteString(fill.Replace(pick(d, lang.captions[about])))
	if d.chance(55) {
		text.WriteString(lang.gap + pick(d, lang.closers))
	}
	if d.chance(45) {
		text.WriteString(" " + pick(d, commonEmoji[about]))
		if d.chance(30) {
			text.WriteString(pick(d, commonEmoji[about]))
		}
	}
	if d.chance(70) {
		for _, tag := range hashtags {
			text.WriteString(" #" + tag)
		}
	}
	if d.chance(50) {
		text.WriteString(" #" + lang.hashtags[about])
	}
	return text.String()
}

// makeAuthor makes one of some three thousand people, each with one language and one theme; they post on all platforms.
func makeAuthor(d *dice, lang *language, about theme, platform string) object {
	number := 1 + d.roll(40)
	id := (1+int(about))*10_000 + slices.Index(languageCodes(), lang.code)*100 + number
	username := fmt.Sprintf("%s_%s_%d", themeKeys[about], lang.code, number)
	return object{
		"created_on":  strconv.Itoa(2012 + number%12),
		"id":          id,
		"platform_id": strconv.Itoa(id),
		"profile": object{
			"avatar":       "https://media.example.com/avatars/" + username + ".jpg",
			"name":         strings.ToUpper(themeKeys[about][:1]) + themeKeys[about][1:] + " " + strconv.Itoa(number),
			"profile_link": "https://" + platform + ".example.com/" + username,
			"username":     username,
		},
		"social_platform": platform,
		"username":        username,
	}
}

// makePlatformData says where an item is from; one in four says nothing about the place, as real ones often do.
func makePlatformData(d *dice, where place, platform string, id int) object {
	data := object{"social_platform_original_url": fmt.Sprintf("https://%s.example.com/p/%d", platform, id)}
	if d.chance(25) {
		return data
	}
	data["geo_data"] = object{"type": "Point", "coordinates": object{"latitude": where.latitude, "longitude": where.longitude}}
	data["location"] = object{
		"coordinates":  fmt.Sprintf("%.2f,%.2f", where.latitude, where.longitude),
		"country":      where.country,
		"country_code": where.code,
		"full_name":    where.name + ", " + where.country,
		"name":         where.name,
		"place_type":   "city",
		"type":         "place",
		"url":          "https://places.example.com/" + strings.ReplaceAll(strings.ToLower(where.name), " ", "-"),
	}
	return data
}

func makeMedia(contentType, platform string, id int) object {
	base := fmt.Sprintf("https://media.example.com/%d/", id)
	original := base + "original.jpg"
	if contentType == "video" {
		original = base + "original.mp4"
	}
	return object{
		"base_url":        base,
		"id":              id,
		"media_urls":      object{"small_image": base + "small.jpg", "medium_image": base + "medium.jpg", "large_image": base + "large.jpg"},
		"mediatype":       contentType,
		"original_url":    original,
		"platform_data":   object{"url": base},
		"social_platform": platform,
	}
}

// keys are tags of one namespace as an import line has them, in the order in which an export has them.
func keys(names ...string) []object {
	names = slices.Sorted(slices.Values(names))
	out := make([]object, len(names))
	for i, name := range names {
		out[i] = object{"key": name}
	}
	return out
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
