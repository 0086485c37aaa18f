package item

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

// These are the members that the specification requires, with their types ("Resources and their fields"). A type that ends in + is a string
// that must not be empty.
var (
	requiredOfItem = map[string]string{
		"id": "number", "activate_units": "array", "entry_confirmation_sent": "boolean", "approval_status": "string+", "campaign": "number",
		"default_activate_unit": "object", "content": "object", "shortened_permalink": "string+", "created_on": "string+", "hashtag": "object",
		"hashtag.social_platform": "string", "hashtag.id": "number", "hashtag.hashtag_text": "string", "featured": "boolean",

		"content.platform_data":                                "object",
		"content.platform_data.geo_data":                       "object",
		"content.platform_data.geo_data.type":                  "string",
		"content.platform_data.geo_data.coordinates":           "object",
		"content.platform_data.geo_data.coordinates.latitude":  "number",
		"content.platform_data.geo_data.coordinates.longitude": "number",
		"content.platform_data.location":                       "object",
		"content.platform_data.location.country_code":          "string+",
		"content.platform_data.location.url":                   "string+",
		"content.platform_data.location.country":               "string+",
		"content.platform_data.location.place_type":            "string+",
		"content.platform_data.location.type":                  "string+",
		"content.platform_data.location.full_name":             "string+",
		"content.platform_data.location.name":                  "string+",
		"content.platform_data.location.bounding_box":          "string",
		"content.platform_data.location.coordinates":           "string",
		"content.platform_data.social_platform_original_url":   "string",
		"content.author": "object", "content.author.profile": "object", "content.author.profile.username": "string+",
		"content.author.profile.name": "string+", "content.author.profile.profile_link": "string+", "content.author.profile.avatar": "string+",
		"content.author.platform_id": "string", "content.author.social_platform": "string", "content.author.created_on": "string",
		"content.author.username": "string", "content.author.id": "number",
		"content.text": "string", "content.social_platform_created_on": "string", "content.platform_ref:": "string", "content.content_state": "string+",
		"content.social_platform": "string+", "content.created_on": "string", "content.content_type": "string+",
		"content.media": "object", "content.media.platform_data": "object", "content.media.platform_data.url": "string",
		"content.media.original_url": "string", "content.media.base_url": "string", "content.media.mediatype": "string",
		"content.media.social_platform": "string", "content.media.media_urls": "object", "content.media.media_urls.small_image": "string",
		"content.media.media_urls.medium_image": "string", "content.media.media_urls.large_image": "string", "content.media.id": "number",
	}
	requiredOfUnit = map[string]string{
		"image_url": "string+", "name": "string+", "click_through_url": "string+", "id": "number", "archived": "boolean", "managed": "boolean",
		"created_on": "string+", "click_unit_library": "number", "last_modified": "string+", "activate_unit_library": "number",
	}
)

// missing returns the names of the required members that are absent, null, or of another type.
func missing(root map[string]any, required map[string]string) []string {
	var wrong []string
	for path, want := range required {
		var v any = root
		for name := range strings.SplitSeq(path, ".") {
			object, _ := v.(map[string]any)
			v = object[name]
			if name == platformRef {
				for key, value := range object {
					if strings.HasPrefix(key, platformRef) {
						v = value
					}
				}
			}
		}
		if got := typeOf(v); strings.TrimSuffix(want, "+") != got || strings.HasSuffix(want, "+") && v == "" {
			wrong = append(wrong, fmt.Sprintf("%s: want %s, got %v", path, want, v))
		}
	}
	return wrong
}

func typeOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "null"
}

// shown decodes the response form of an item for an audience.
func shown(t *testing.T, it *Item, a query.Audience, s Slots) map[string]any {
	t.Helper()
	text := Encode(it).Append([]byte("before"), a, s)
	var m map[string]any
	if err := json.Unmarshal(text[len("before"):], &m); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return m
}

// corpus returns items of all kinds by name.
func corpus(t *testing.T) map[string]*Item {
	t.Helper()
	add := func(body string) *Item {
		it, err := ParseAdd([]byte(body), testOptions())
		if err != nil {
			t.Fatalf("add %s: %v", body, err)
		}
		return it
	}
	items := map[string]*Item{
		"the zero item": {},
		"an empty text": {Content: Content{ContentType: Text}},
		"a text":        add(`{"content_type":"text","caption":"Hello","content_url":"https://a.example/post"}`),
		"a video": add(`{"content_type":"video","content_url":"https://a.example/v.mp4","video_thumbnail":"https://a.example/v.png",
			"submission":{"username":"ann","email":"ann@mail.example"}}`),
		"an image with everything": everything(),
		"an imported item": mustLine(t, `{"id":5,"content":{"content_type":"image","social_platform":"instagram","platform_ref:instagram":"77",
			"author":{"username":"ann"},"platform_data":{"location":{"name":"Tokyo"}}},"created_on":"2015"}`).Item,
	}
	for seed := range uint64(200) {
		items[fmt.Sprintf("random item %d", seed)] = newMaker(seed).item()
	}
	return items
}

// everything returns an image with a value for every member.
func everything() *Item {
	n := func(n int64) *int64 { return &n }
	return &Item{
		ID: 9, EntryConfirmationSent: true, ApprovalStatus: Approved, Campaign: n(12), Submission: json.RawMessage(`{"email":"a@b.example"}`),
		ShortenedPermalink: "https://s.example/9", CreatedOn: "2026-11-20T08:00:00Z", LastModified: "2026-11-21T09:10:11.012Z",
		Hashtag: &Hashtag{SocialPlatform: "twitter", ID: 3, Text: "summer"}, Featured: true, Configuration: json.RawMessage(`{"a":1}`), Claimed: true,
		Content: Content{
			Geo: &Geo{Type: "Point", Latitude: 35.66, Longitude: 139.7},
			Location: &Location{
				CountryCode: "JP", URL: "https://places.example.com/Tokyo", Country: "Japan", PlaceType: "city", Type: "place",
				FullName: "Shibuya-ku, Tokyo", Name: "Tokyo", BoundingBox: "box", Coordinates: "35.66,139.70",
			},
			OriginalURL: "https://instagram.example.com/p/9",
			Author: &Author{
				Username: "ann", ProfileName: "Ann Example", ProfileUser: "ann.public", ProfileLink: "https://instagram.example.com/ann",
				Avatar: "https://media.example.com/a/ann.jpg", PlatformID: "529", SocialPlatform: "facebook", CreatedOn: "2015", ID: n(529),
			},
			Text: "On the beach", SocialPlatformCreatedOn: "2026-11-19", PlatformRef: "ref", ContentState: "hidden", SocialPlatform: "instagram",
			CreatedOn: "2026-11-20T07:00:00Z", ContentType: Image,
			Media: &Media{
				PlatformURL: "https://media.example.com/9/", OriginalURL: "https://media.example.com/9/o.jpg", BaseURL: "https://media.example.com/9/b",
				MediaType: "photo", SocialPlatform: "tumblr", SmallImage: "https://media.example.com/9/s.jpg",
				MediumImage: "https://media.example.com/9/m.jpg", LargeImage: "https://media.example.com/9/l.jpg", ID: n(90),
			},
		},
		Tags:  []Tag{{"hashtags", "summer"}, {"marketer_tags", "hero"}},
		Units: []int64{5},
	}
}

func TestRequiredMembersAreAlwaysPresent(t *testing.T) {
	units := map[string][][]byte{
		"no unit": nil,
		"units":   {EncodeUnit(Unit{}), EncodeUnit(newMaker(1).unit(5))},
	}
	for name, it := range corpus(t) {
		for attached, encoded := range units {
			for _, audience := range []query.Audience{query.Public, query.Private} {
				s := Slots{BaseURL: "https://content.example", Units: encoded}
				if encoded != nil {
					s.Default = encoded[0]
				}
				m := shown(t, it, audience, s)
				if wrong := missing(m, requiredOfItem); wrong != nil {
					t.Errorf("%s, %s: %q", name, attached, wrong)
				}
				list := m["activate_units"].([]any)
				if len(list) != len(encoded) {
					t.Errorf("%s, %s: %d units in activate_units", name, attached, len(list))
				}
				for _, u := range append(list, m["default_activate_unit"]) {
					if wrong := missing(u.(map[string]any), requiredOfUnit); wrong != nil {
						t.Errorf("%s, %s: unit: %q", name, attached, wrong)
					}
				}
			}
		}
	}
}

func TestMissingFindsMissingMembers(t *testing.T) {
	m := shown(t, everything(), query.Public, Slots{})
	delete(m, "hashtag")
	m["content"].(map[string]any)["text"] = nil
	m["content"].(map[string]any)["media"].(map[string]any)["id"] = "90"
	if wrong := missing(m, requiredOfItem); len(wrong) != 6 {
		t.Errorf("%d complaints, want those of hashtag and its three members, text and media.id: %q", len(wrong), wrong)
	}
}

func TestOnlyThePrivateAudienceSeesPrivateMembers(t *testing.T) {
	for name, it := range corpus(t) {
		public := Encode(it).Append(nil, query.Public, Slots{})
		for _, member := range []string{"submission", "last_modified"} {
			if _, ok := shown(t, it, query.Public, Slots{})[member]; ok {
				t.Errorf("%s: the public answer holds %s: %s", name, member, public)
			}
		}
		if it.Submission != nil && strings.Contains(string(public), "mail.example") {
			t.Errorf("%s: the public answer holds an email: %s", name, public)
		}
		m := shown(t, it, query.Private, Slots{})
		submission, ok := m["submission"]
		if !ok {
			t.Errorf("%s: the private answer holds no submission", name)
		}
		if (submission == nil) != (it.Submission == nil) {
			t.Errorf("%s: submission %v, stored %s", name, submission, it.Submission)
		}
		if modified := m["last_modified"]; it.LastModified != "" && modified != it.LastModified || it.LastModified == "" && modified != m["created_on"] {
			t.Errorf("%s: last_modified is %v, stored %s", name, modified, it.LastModified)
		}
		delete(m, "submission")
		delete(m, "last_modified")
		if diff := cmp.Diff(m, shown(t, it, query.Public, Slots{})); diff != "" {
			t.Errorf("%s: the audiences see different items besides (-private +public):\n%s", name, diff)
		}
	}
}

func TestFillers(t *testing.T) {
	var want map[string]any
	err := json.Unmarshal([]byte(`{
		"id": 4, "approval_status": "pen", "created_on": "2026-11-20T08:00:00Z", "featured": false, "campaign": 0, "claimed": false,
		"entry_confirmation_sent": false, "hashtag": {"social_platform": "direct", "id": 0, "hashtag_text": "beach"}, "configuration": null,
		"content": {
			"content_type": "text", "text": "Hello", "social_platform": "direct", "platform_ref:direct": "", "content_state": "active",
			"created_on": "2026-11-20T08:00:00Z", "social_platform_created_on": "2026-11-20T08:00:00Z",
			"platform_data": {
				"social_platform_original_url": "about:blank", "geo_data": {"type": "Point", "coordinates": {"latitude": 0, "longitude": 0}},
				"location": {"country_code": "ZZ", "url": "about:blank", "country": "Unknown", "place_type": "unknown", "type": "unknown",
					"full_name": "Unknown", "name": "Unknown", "bounding_box": "", "coordinates": ""}
			},
			"author": {
				"username": "unknown", "platform_id": "", "id": 0, "social_platform": "direct", "created_on": "2026-11-20T08:00:00Z",
				"profile": {"username": "unknown", "name": "unknown", "profile_link": "about:blank", "avatar": "about:blank"}
			},
			"media": {
				"mediatype": "text", "id": 0, "social_platform": "direct", "original_url": "about:blank", "base_url": "about:blank",
				"platform_data": {"url": "about:blank"},
				"media_urls": {"small_image": "about:blank", "medium_image": "about:blank", "large_image": "about:blank"}
			}
		},
		"shortened_permalink": "https://content.example/i/aZ09", "activate_units": [],
		"default_activate_unit": {
			"id": 0, "name": "none", "image_url": "about:blank", "click_through_url": "about:blank", "catalog_item": null,
			"catalog_image_url_src": null, "external_id": null, "archived": true, "managed": false, "created_on": "1970-01-01T00:00:00Z",
			"last_modified": "1970-01-01T00:00:00Z", "click_unit_library": 1, "activate_unit_library": 1, "associated_contents": []
		}
	}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	it := &Item{
		ID: 4, ApprovalStatus: Pending, CreatedOn: "2026-11-20T08:00:00Z", ShortCode: "aZ09",
		Content: Content{ContentType: Text, Text: "Hello"}, Tags: []Tag{{"a", "b"}, {"hashtags", "beach"}, {"hashtags", "sun"}},
	}
	if diff := cmp.Diff(want, shown(t, it, query.Public, Slots{BaseURL: "https://content.example"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFillersFollowTheItem(t *testing.T) {
	const image = "https://a.example/i.png"
	it := &Item{CreatedOn: "2015", Content: Content{
		ContentType: Image, SocialPlatform: "instagram", PlatformRef: "77", Media: &Media{OriginalURL: image}, Author: &Author{Username: "ann"},
	}}
	content := shown(t, it, query.Public, Slots{})["content"].(map[string]any)
	media := content["media"].(map[string]any)
	author := content["author"].(map[string]any)
	want := map[string]any{
		"reference": "77", "platforms": []any{"instagram", "instagram"}, "urls": map[string]any{"small_image": image, "medium_image": image, "large_image": image},
		"author": []any{"ann", "ann", "ann"}, "original": image, "created": []any{"2015", "2015", "2015"},
	}
	profile := author["profile"].(map[string]any)
	got := map[string]any{
		"reference": content["platform_ref:instagram"], "platforms": []any{media["social_platform"], author["social_platform"]}, "urls": media["media_urls"],
		"author":   []any{author["username"], profile["username"], profile["name"]},
		"original": content["platform_data"].(map[string]any)["social_platform_original_url"],
		"created":  []any{content["created_on"], content["social_platform_created_on"], author["created_on"]},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEncodeKeepsWhatIsGiven(t *testing.T) {
	it := everything()
	m := shown(t, it, query.Private, Slots{})
	// If the response of an item with all values is parsed as an import line, the result must be the same item.
	m["tags"] = map[string]any{"hashtags": []string{"summer"}, "marketer_tags": []string{"hero"}}
	m["activate_units"] = []int64{5}
	line, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(it, mustLine(t, string(line)).Item); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEncodeUnitKeepsWhatIsGiven(t *testing.T) {
	for seed := range uint64(200) {
		m := newMaker(seed)
		u := m.unit(m.id())
		u.ImageURL, u.ClickThroughURL = "https://a.example/i.png", "https://a.example"
		u.CreatedOn, u.LastModified = "2026-11-20T08:00:00Z", "2015"
		u.ClickUnitLibrary, u.ActivateUnitLibrary = 2, 3
		l := mustLine(t, `{"activate_units":[`+string(EncodeUnit(u))+`],`+minimal+`}`)
		if diff := cmp.Diff([]Unit{u}, l.Units); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

func TestDefaultUnit(t *testing.T) {
	live, old, property := Unit{ID: 1}, Unit{ID: 2, Archived: true}, Unit{ID: 3}
	for name, tc := range map[string]struct {
		units    []Unit
		property *Unit
		want     int64
	}{
		"none":                       {nil, nil, 0},
		"the property's":             {nil, &property, 3},
		"the first live one":         {[]Unit{old, live, {ID: 4}}, &property, 1},
		"archived ones do not count": {[]Unit{old}, &property, 3},
		"only archived ones":         {[]Unit{old}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var got int64
			if u := DefaultUnit(tc.units, tc.property); u != nil {
				got = u.ID
			}
			if got != tc.want {
				t.Errorf("unit %d, want %d", got, tc.want)
			}
		})
	}
}

func TestStringsAreEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"plain é \U0001F600 & 'x'": `"plain é 😀 & 'x'"`,
		"</script><!--":            `"\u003c/script\u003e\u003c!--"`,
		"\u2028\u2029":             `"\u2028\u2029"`,
		"a\"b\\c\n\r\t\x00\x1f":    `"a\"b\\c\n\r\t\u0000\u001f"`,
		"a\xffb\xe2\x80":           "\"a\uFFFDb\uFFFD\uFFFD\"",
	} {
		if got := string(AppendString(nil, in)); got != want {
			t.Errorf("AppendString(%q) = %s, want %s", in, got, want)
		}
	}
	it := &Item{
		Configuration: json.RawMessage("{ \"</script>\" : [ 1 ,\n\"\u2028\\\"\" ] }"), ShortCode: `"<`,
		Content: Content{SocialPlatform: `"<`, PlatformRef: "\xff"},
	}
	for form, text := range map[string][]byte{
		"response": Encode(it).Append(nil, query.Private, Slots{BaseURL: `https://x"<`}),
		"line":     Marshal(it, nil),
	} {
		if !json.Valid(text) || strings.ContainsAny(string(text), "<>\n\u2028") || !strings.Contains(string(text), `{"\u003c/script\u003e":[1,"\u2028\""]}`) {
			t.Errorf("%s: %s", form, text)
		}
	}
}

func TestNumbersAreShortest(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 35.66: "35.66", -118: "-118", 1e20: "100000000000000000000", 1e21: "1e+21", 1e-7: "1e-07", math.Inf(1): "0", math.NaN(): "0",
	} {
		got := string(appendFloat(nil, f))
		if back, err := strconv.ParseFloat(got, 64); got != want || err != nil || back != f && want != "0" {
			t.Errorf("%g is written as %s, want %s", f, got, want)
		}
	}
}

func TestBrokenRawJSONIsNull(t *testing.T) {
	m := shown(t, &Item{Configuration: json.RawMessage(`{"a":`), Submission: json.RawMessage(``)}, query.Private, Slots{})
	if m["configuration"] != nil || m["submission"] != nil {
		t.Errorf("configuration %v, submission %v: want null", m["configuration"], m["submission"])
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	e := Encode(everything())
	linked := Encode(&Item{ShortCode: "aZ09"})
	s := Slots{Units: [][]byte{EncodeUnit(Unit{ID: 5}), EncodeUnit(Unit{ID: 6})}, BaseURL: "https://content.example"}
	dst := make([]byte, 0, 64<<10)
	if n := testing.AllocsPerRun(100, func() {
		dst = e.Append(dst[:0], query.Private, s)
		dst = linked.Append(dst, query.Public, s)
	}); n != 0 {
		t.Errorf("Append allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { e.Append(nil, query.Private, s) }); n != 1 {
		t.Errorf("without memory for the response, Append allocates %v times", n)
	}
}

func BenchmarkEncode(b *testing.B) {
	it := everything()
	b.ReportAllocs()
	for b.Loop() {
		Encode(it)
	}
}

func BenchmarkAppend(b *testing.B) {
	e := Encode(everything())
	s := Slots{Units: [][]byte{EncodeUnit(Unit{ID: 5})}, BaseURL: "https://content.example"}
	dst := make([]byte, 0, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		dst = e.Append(dst[:0], query.Public, s)
	}
	b.SetBytes(int64(len(dst)))
}

func BenchmarkPack(b *testing.B) {
	it := everything()
	var p Packer
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = p.Append(dst[:0], it)
	}
}

func BenchmarkUnpack(b *testing.B) {
	packed := new(Packer).Append(nil, everything())
	s := Slots{Units: [][]byte{EncodeUnit(Unit{ID: 5})}, BaseURL: "https://content.example"}
	var u Unpacker
	dst := make([]byte, 0, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = u.Append(dst[:0], packed, query.Public, s)
	}
	b.SetBytes(int64(len(dst)))
}

func BenchmarkDecode(b *testing.B) {
	e := Encode(everything())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	line := Marshal(everything(), nil)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Unmarshal(line); err != nil {
			b.Fatal(err)
		}
	}
}

// TestDecode checks that Decode is the inverse of Encode, and that a decoded item has the same line as the original.
func TestDecode(t *testing.T) {
	for name, it := range corpus(t) {
		again, err := Decode(Encode(it))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(it, again); diff != "" {
			t.Errorf("%s (-item +again):\n%s", name, diff)
		}
		if line := Marshal(it, nil); string(line) != string(Marshal(again, nil)) {
			t.Errorf("%s: the line is %s, was %s", name, Marshal(again, nil), line)
		}
	}
}

// TestEncodedForm detects a change of the encoded form, which stores and files of segments contain. testdata has the encoding of
// everything().
func TestEncodedForm(t *testing.T) {
	want := encodedIn(t, "testdata/encoded.hex")
	if got := Encode(everything()); !bytes.Equal(got, want) {
		t.Errorf("the form has changed: change Format. It is\n%x", []byte(got))
	}
	stored, err := Decode(want)
	if diff := cmp.Diff(everything(), stored); err != nil || diff != "" {
		t.Errorf("stored items have another meaning (-want +got): %v\n%s", err, diff)
	}
}

// TestFirstEncodedForm checks that items of the first form, which has no last_modified, get their created_on instead.
func TestFirstEncodedForm(t *testing.T) {
	first := encodedIn(t, "testdata/encoded1.hex")
	want := everything()
	want.LastModified = want.CreatedOn
	stored, err := Decode(first)
	if diff := cmp.Diff(want, stored); err != nil || diff != "" {
		t.Errorf("(-want +got): %v\n%s", err, diff)
	}
	for _, a := range []query.Audience{query.Public, query.Private} {
		if got := string(first.Append(nil, a, Slots{})); got != string(Encode(want).Append(nil, a, Slots{})) {
			t.Errorf("audience %d: %s", a, got)
		}
	}
}

func encodedIn(t *testing.T, file string) Encoded {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// TestStamps checks that every timestamp is stored without a change, and which timestamps are packed.
func TestStamps(t *testing.T) {
	for stamp, packed := range map[string]bool{
		"2026-11-20T08:09:10Z": true, "0000-00-00T00:00:00Z": true, "9999-12-31T23:59:59Z": true, "2024-15-31T31:63:63Z": true,
		"2026-11-20T08:09:10.123Z": true, "0000-00-00T00:00:00.000Z": true, "9999-12-31T23:59:59.999Z": true, "2026-11-20T08:09:10.070Z": true,
		"2026-11-20T08:09:10.12xZ": false, "2026-11-20T08:09:10.123+": false, "2026-11-20T08:09:10,123Z": false, "2026-16-20T08:09:10.123Z": false,
		"2026-11-20T08:09:10.5Z": false, "2026-11-20": false, "2026": false, "": false, "2026-16-20T08:09:10Z": false, "2026-11-32T08:09:10Z": false,
		"2026-11-20T32:09:10Z": false, "2026-11-20T08:64:10Z": false, "2026-11-20T08:09:64Z": false, "2026-11-20t08:09:10Z": false,
		"2026-11-20T08:09:1xZ": false, "x026-11-20T08:09:10Z": false, "2026-11-20T08:09:10+": false, "\x01abcde": false, "\"\\\n": false,
	} {
		if got := appendStamp(nil, stamp); isPacked(got) != packed {
			t.Errorf("%q is stored as %q; want packed %t", stamp, got, packed)
		}
		it := &Item{ID: 1, CreatedOn: stamp, Content: Content{CreatedOn: stamp, SocialPlatformCreatedOn: stamp, Author: &Author{Username: "a", CreatedOn: stamp}}}
		e := Encode(it)
		again, err := Decode(e)
		if diff := cmp.Diff(it, again); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", stamp, err, diff)
		}
		want := string(AppendString(nil, stamp))
		if stamp == "" {
			want = `"` + epoch + `"`
		}
		if got := string(e.Append(nil, query.Public, Slots{})); strings.Count(got, `_on":`+want) < 4 {
			t.Errorf("%q: the response does not contain %s four times:\n%s", stamp, want, got)
		}
	}
}

// TestPacked checks that a packed item gives the same responses as the item itself. It also checks ResponseLen.
func TestPacked(t *testing.T) {
	var p Packer
	var u Unpacker
	s := Slots{Units: [][]byte{EncodeUnit(Unit{ID: 5})}, BaseURL: `https://content.example/"`}
	for name, it := range corpus(t) {
		packed := Packed(p.Append([]byte("before"), it)[len("before"):])
		if want := len(Encode(it).Append(nil, query.Private, Slots{})); packed.ResponseLen() != want {
			t.Errorf("%s: response of %d bytes, want %d", name, packed.ResponseLen(), want)
		}
		for _, a := range []query.Audience{query.Public, query.Private} {
			got, ok := u.Append([]byte("["), packed, a, s)
			if want := string(Encode(it).Append([]byte("["), a, s)); !ok || string(got) != want {
				t.Errorf("%s: %t\n%s\nwant\n%s", name, ok, got, want)
			}
		}
	}
}

// TestSlack checks that Slack covers the constant texts and the short values of any item, and that a long text does not take more memory.
func TestSlack(t *testing.T) {
	most := 0
	for _, p := range parts {
		most += p.lead.length + shortRoom // no number and no filler is longer
	}
	if most += shortRoom; most > Slack {
		t.Errorf("a response of short texts can need %d bytes, Slack is %d", most, Slack)
	}
	it := &Item{ID: 1, Content: Content{ContentType: Text, Text: strings.Repeat("x", MaxText)}}
	got := Encode(it).Append(nil, query.Public, Slots{})
	if limit := len(got) + len(got)/2 + 2*Slack; cap(got) > limit {
		t.Errorf("a response of %d bytes takes %d bytes of memory, want at most %d", len(got), cap(got), limit)
	}
}

// TestLongTexts checks texts around the lengths at which the encoded length takes another byte.
func TestLongTexts(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 129, 16383, 16384, MaxText} {
		it := &Item{ID: 1, Content: Content{ContentType: Text, Text: strings.Repeat("é", n/2) + strings.Repeat("x", n%2), OriginalURL: "https://x.example"}}
		again, err := Decode(Encode(it))
		if diff := cmp.Diff(it, again); err != nil || diff != "" {
			t.Errorf("%d bytes: %v\n%s", n, err, diff)
		}
	}
}

// FuzzDamaged checks that damaged bytes are refused or read without a panic, and that an item read from them can be encoded again.
func FuzzDamaged(f *testing.F) {
	var p Packer
	for seed := range uint64(20) {
		it := newMaker(seed).item()
		f.Add([]byte(Encode(it)), p.Append(nil, it))
	}
	f.Fuzz(func(t *testing.T, encoded, packed []byte) {
		if it, err := Decode(encoded); err == nil {
			if _, err := Decode(Encode(it)); err != nil {
				t.Fatal(err)
			}
		}
		Encoded(encoded).Append(nil, query.Private, Slots{})
		var u Unpacker
		if text, ok := u.Append([]byte("["), packed, query.Private, Slots{}); !ok && len(text) != 1 {
			t.Fatalf("%q appended, but refused", text)
		}
		Packed(packed).ResponseLen()
	})
}

func TestDamagedTextsAreRefused(t *testing.T) {
	it := &Item{ID: 7, Submission: json.RawMessage(`{"k":"v"}`), Content: Content{Text: "abcdef", Geo: &Geo{Latitude: 12345}}}
	for _, damage := range []string{"abcdef:ab\"def", "abcdef:ab\\xef", "abcdef:ab\ndef", "abcdef:ab\xffdef", `{"k":"v"}:{"k":"v"]`, "12345:1e999", "12345:0x123"} {
		old, replaced, _ := strings.Cut(damage, ":")
		if strings.HasPrefix(damage, "{") {
			old, replaced = damage[:9], damage[10:]
		}
		whole := Encode(it)
		if !bytes.Contains(whole, []byte(old)) {
			t.Fatalf("%q is not in %q", old, whole)
		}
		if _, err := Decode(bytes.Replace(whole, []byte(old), []byte(replaced), 1)); err == nil || strings.Contains(err.Error(), replaced) {
			t.Errorf("%s: %v", damage, err)
		}
	}
}

func TestDamagedBytesAreRefused(t *testing.T) {
	it := &Item{ID: 7, ShortCode: "abc", Content: Content{ContentType: Image}, Tags: []Tag{{"a", "b"}}, Units: []int64{3}}
	whole := Encode(it)
	for n := range whole {
		if _, err := Decode(whole[:n]); err == nil {
			t.Errorf("Decode accepts %d of %d bytes", n, len(whole))
		}
	}
	if _, err := Decode(append(whole[:len(whole):len(whole)], 0)); err == nil {
		t.Error("Decode accepts a byte too many")
	}
	var p Packer
	var u Unpacker
	packed := p.Append(nil, it)
	for length := range uint64(1 << 20) {
		_, size := binary.Uvarint(packed)
		wrong := append(binary.AppendUvarint(nil, length<<8), packed[size:]...)
		if n := Packed(wrong).ResponseLen(); n > 4096+8*len(whole) {
			t.Fatalf("a response of %d bytes for an item of %d", n, len(whole))
		}
	}
	for n := range packed {
		if text, ok := u.Append(nil, packed[:n], query.Public, Slots{}); ok {
			t.Errorf("%d of %d bytes give %s", n, len(packed), text)
		}
	}
}
