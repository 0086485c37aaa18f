package sample

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// object is a JSON object. Its members are encoded in alphabetical order.
type object = map[string]any

// place is a real place. Captions use the native name of the place.
type place struct {
	Native, Name, Country, Code string
	Latitude, Longitude         float64
}

// post contains the random choices for an item; item returns it as an import line.
type post struct {
	id, campaign                                 int
	status, platform, contentType, text, hashtag string
	hashtagID                                    int
	author                                       int
	user, name                                   string
	created, posted                              time.Time
	at                                           *place // nil if the item has no place
	media, featured, confirmed                   bool
	tags                                         object
}

func (p post) item() object {
	author := strconv.Itoa(p.author)
	content := object{
		"author": object{
			"created_on": "2015", "id": p.author, "platform_id": author, "social_platform": p.platform, "username": p.user,
			"profile": object{
				"avatar": MediaURL + "avatars/" + p.user + ".jpg", "name": p.name,
				"profile_link": "https://" + p.platform + ".example.com/" + p.user, "username": p.user,
			},
		},
		"content_state":              "active",
		"content_type":               p.contentType,
		"created_on":                 stamp(p.created),
		"platform_data":              p.platformData(),
		"platform_ref:" + p.platform: strconv.Itoa(p.id),
		"social_platform":            p.platform,
		"social_platform_created_on": stamp(p.posted),
		"text":                       p.text,
	}
	if p.media {
		content["media"] = p.mediaFiles()
	}
	return object{
		"approval_status":         p.status,
		"campaign":                p.campaign,
		"content":                 content,
		"created_on":              stamp(p.created),
		"entry_confirmation_sent": p.confirmed,
		"featured":                p.featured,
		"hashtag":                 object{"hashtag_text": p.hashtag, "id": p.hashtagID, "social_platform": p.platform},
		"id":                      p.id,
		"tags":                    p.tags,
	}
}

func (p post) platformData() object {
	data := object{"social_platform_original_url": fmt.Sprintf("https://%s.example.com/p/%d", p.platform, p.id)}
	if at := p.at; at != nil {
		data["geo_data"] = object{"type": "Point", "coordinates": object{"latitude": at.Latitude, "longitude": at.Longitude}}
		data["location"] = object{
			"coordinates": fmt.Sprintf("%.2f,%.2f", at.Latitude, at.Longitude), "country": at.Country, "country_code": at.Code,
			"full_name": at.Name + ", " + at.Country, "name": at.Name, "place_type": "city", "type": "place",
			"url": "https://places.example.com/" + strings.ReplaceAll(strings.ToLower(at.Name), " ", "-"),
		}
	}
	return data
}

func (p post) mediaFiles() object {
	base := fmt.Sprintf("%s%d/", MediaURL, p.id)
	original := base + "original.jpg"
	if p.contentType == "video" {
		original = base + "original.mp4"
	}
	return object{
		"base_url": base, "id": p.id, "mediatype": p.contentType, "original_url": original, "social_platform": p.platform,
		"media_urls":    object{"small_image": base + "small.jpg", "medium_image": base + "medium.jpg", "large_image": base + "large.jpg"},
		"platform_data": object{"url": base},
	}
}

// submission returns the form fields that the sender of an item has filled in.
func (p post) submission() object {
	return object{"username": p.user, "email": p.user + "@mail.example.org", "consent": "yes"}
}

// keys returns the tags of one namespace in the format of an import line, sorted as in an export.
func keys(names ...string) []object {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	out := make([]object, len(names))
	for i, name := range names {
		out[i] = object{"key": name}
	}
	return out
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
