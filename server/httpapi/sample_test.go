package httpapi_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

func owner(kind library.Kind, name string) library.Owner {
	return library.Owner{Install: "cluster-1", Kind: kind, Namespace: "shop", Name: name}
}

func manifestFilter(name, query, order string, public bool) library.Definition {
	o := owner(library.KindFilter, name)
	uuid, id := library.FilterIDs(shop, o.Kind, o.Namespace, o.Name)
	return library.Definition{Property: shop, Owner: o, Created: began.Add(-time.Hour), Filter: &library.Filter{
		UUID: uuid, ID: id, Name: name, Query: query, Order: order, Public: public,
	}}
}

// filterUUID returns the UUID of the filter that the ContentFilter with this name declares.
func filterUUID(name string) string {
	uuid, _ := library.FilterIDs(shop, library.KindFilter, "shop", name)
	return uuid
}

func filterID(name string) int64 {
	_, id := library.FilterIDs(shop, library.KindFilter, "shop", name)
	return id
}

func unitID(name string) int64 { return library.UnitID(shop, "shop", name) }

// madeUUID and madeID identify the filter that was created over HTTP.
const (
	madeUUID = "11111111-2222-4333-8444-555555555555"
	madeID   = 4242
)

func tokenDefinition(p library.PropertyID, name string, t library.Token) library.Definition {
	if t.Values == nil {
		t.Values = []library.TokenValue{{Digest: digest(name)}}
	}
	return library.Definition{Property: p, Owner: owner(library.KindToken, name), Created: began.Add(-time.Hour), Token: &t}
}

func property(p library.PropertyID, name string, s library.Property) library.Definition {
	if s.PlatformPageID == 0 {
		s.PlatformPageID = library.PlatformPageID(p)
	}
	return library.Definition{Property: p, Owner: owner(library.KindProperty, name), Created: began.Add(-time.Hour), PropertySpec: &s}
}

func madeFilter() library.Definition {
	return library.Definition{Property: shop, Filter: &library.Filter{
		UUID: madeUUID, ID: madeID, Name: "made over HTTP", Query: "approval_status:rej", Order: "id:asc",
	}}
}

func definitions() []library.Definition {
	hero := item.Tag{Namespace: "marketer_tags", Key: "hero"}
	summerWall := manifestFilter("summer-wall", "approval_status:app AND tags.marketer_tags.key:summer", "created_on:desc", true)
	heroFirst := manifestFilter("hero-first", "campaign:12", "created_on:desc", true)
	heroFirst.Filter.Favourite = &hero
	return []library.Definition{
		property(shop, "default", library.Property{
			PlatformPageID: 4711,
			AllowedOrigins: []string{"https://www.shop.example", "https://*.wild.example", "http://localhost:3000"},
		}),
		property(other, "other", library.Property{}),
		property(limited, "limited", library.Property{
			RatePerSecond: 2, Burst: 3, ExternalURL: "https://limited.example",
			Cache:          &library.Cache{MaxAge: 10 * time.Second, StaleWhileRevalidate: 20 * time.Second},
			AllowedOrigins: []string{"https://limited.example"},
		}),
		property(closed, "closed", library.Property{
			Maintenance:    &library.Maintenance{RetryAfter: 2 * time.Minute, Message: "Back soon"},
			AllowedOrigins: []string{"https://closed.example"},
		}),

		tokenDefinition(shop, "rw", library.Token{ReadWrite: true}),
		tokenDefinition(shop, "ro", library.Token{}),
		tokenDefinition(shop, "walled", library.Token{Filters: []string{filterUUID("summer-wall"), filterUUID("private"), filterUUID("gone")}}),
		tokenDefinition(shop, "expiring", library.Token{ReadWrite: true, Values: []library.TokenValue{
			{Digest: digest("expiring-old"), Expires: began.Add(time.Hour)}, {Digest: digest("expiring-new")},
		}}),
		tokenDefinition(shop, "expired", library.Token{ReadWrite: true, Values: []library.TokenValue{{Digest: digest("expired"), Expires: began}}}),
		tokenDefinition(other, "other-rw", library.Token{ReadWrite: true}),
		tokenDefinition(other, "other-ro", library.Token{}),
		tokenDefinition(limited, "limited-ro", library.Token{}),
		tokenDefinition(limited, "limited-rw", library.Token{ReadWrite: true}),
		tokenDefinition(closed, "closed-ro", library.Token{}),

		summerWall, heroFirst,
		manifestFilter("private", "approval_status:pen", "id:asc", false),
		manifestFilter("secret-order", "submission.email:*mail.example", "submission.age:asc", true),
		manifestFilter("shuffled", "campaign:12", "random", true),
		manifestFilter("nothing", "text:nowheretobefound", "created_on:desc", true),

		{Property: shop, Owner: owner(library.KindTag, "hero"), Created: began, Tag: &library.TagRule{Tag: hero, Items: []item.ID{1003, 1007}}},
		{Property: shop, Owner: owner(library.KindTag, "videos"), Created: began, Tag: &library.TagRule{
			Tag: item.Tag{Namespace: "kinds", Key: "video"}, Selector: "content_type:video",
		}},
		{Property: shop, Owner: owner(library.KindTag, "unused"), Created: began, Tag: &library.TagRule{
			Tag: item.Tag{Namespace: "kinds", Key: "unused"}, Selector: "text:nowheretobefound",
		}},
		{Property: shop, Owner: owner(library.KindUnit, "sandals"), Created: began, Unit: &library.UnitRule{
			Unit: item.Unit{
				ID: unitID("sandals"), Name: "Shop the sandals", ImageURL: "https://cdn.example/sandals.png", ClickThroughURL: "https://shop.example/sandals",
				ExternalID: "SKU-1", Managed: true, CatalogItem: json.RawMessage(`{"size":42}`), CreatedOn: "2026-01-02T00:00:00Z",
			},
			Default: true, Items: []item.ID{1001, 1002},
		}},
		{Property: shop, Owner: owner(library.KindUnit, "boots"), Created: began, Unit: &library.UnitRule{
			Unit: item.Unit{
				ID: unitID("boots"), Name: "Shop the boots", ImageURL: "https://cdn.example/boots.png", ClickThroughURL: "https://shop.example/boots",
				ExternalID: "SKU-2", Managed: true, Archived: true, CreatedOn: "2026-01-02T00:00:00Z",
			},
			Selector: "campaign:13 AND content_type:image",
		}},
	}
}

// sampleLines returns the import lines of 60 items of the property shop, 1001 to 1060, one day apart. The last item is the newest.
//
// The value of approval_status cycles through app, app, rej and pen, and the value of content_type through image, video and text. campaign
// is 12 for the first 30 items and 13 for the rest. Every fifth item carries marketer_tags:summer. Every sixth item is claimed and has a
// submission.
func sampleLines() []string {
	statuses := []string{"app", "app", "rej", "pen"}
	types := []string{"image", "video", "text"}
	platforms := []string{"instagram", "twitter", "facebook", "tumblr", "direct", "vinetweet"}
	words := []string{"beach", "sunset", "mountain", "river", "city", "forest", "desert"}
	var lines []string
	for i := range 60 {
		id := 1001 + i
		kind := types[i%3]
		content := map[string]any{
			"content_type": kind, "text": fmt.Sprintf("%s %s number %d", words[i%7], words[i%5], i),
			"social_platform": platforms[i%6], "created_on": began.AddDate(0, 0, i-60).Format(time.RFC3339),
			"author": map[string]any{"username": fmt.Sprintf("author%d", i%4), "platform_id": fmt.Sprintf("p%d", i%4), "id": 500 + i%4},
		}
		if kind != "text" {
			content["media"] = map[string]any{"original_url": fmt.Sprintf("https://img.example/%d.jpg", id)}
			content["platform_data"] = map[string]any{"social_platform_original_url": fmt.Sprintf("https://social.example/%d", id)}
		}
		campaign := 12
		if i >= 30 {
			campaign = 13
		}
		it := map[string]any{
			"id": id, "approval_status": statuses[i%4], "created_on": began.AddDate(0, 0, i-60).Format(time.RFC3339),
			"campaign": campaign, "featured": i%10 == 0, "content": content, "short_code": fmt.Sprintf("code%d", id),
		}
		tags := map[string]any{}
		if i%5 == 0 {
			tags["marketer_tags"] = []string{"summer"}
		}
		if i%9 == 0 {
			tags["hashtags"] = []string{"beach_2026"}
		}
		if len(tags) > 0 {
			it["tags"] = tags
		}
		if i%6 == 0 {
			it["claimed"] = true
			it["submission"] = map[string]any{
				"username": fmt.Sprintf("person%d", i), "email": fmt.Sprintf("person%d@mail.example", i), "age": fmt.Sprint(20 + i),
			}
		}
		line, err := json.Marshal(it)
		if err != nil {
			panic(err)
		}
		lines = append(lines, string(line))
	}
	return lines
}
