package item

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testOptions returns options that make parsing deterministic, except for generated codes.
func testOptions() ParseOptions {
	return ParseOptions{Now: time.Date(2026, 11, 20, 9, 0, 0, 5e8, time.FixedZone("", 3600)), AuthorKey: []byte("key")}
}

// mustLine parses a line that must be valid.
func mustLine(t *testing.T, line string) Line {
	t.Helper()
	l, err := ParseLine([]byte(line), testOptions())
	if err != nil {
		t.Fatalf("parse %s: %v", line, err)
	}
	return l
}

func TestParseLineIsTheInverseOfMarshal(t *testing.T) {
	for seed := range uint64(2000) {
		m := newMaker(seed)
		it := m.item()
		var units []Unit
		want := Line{Item: it}
		for _, id := range it.Units {
			u := Unit{ID: id, Managed: true}
			if m.often() {
				u = m.unit(id)
				units = append(units, u)
			}
			want.Units = append(want.Units, u)
		}
		line := Marshal(it, units)
		got, err := ParseLine(line, testOptions())
		if err != nil {
			t.Fatalf("seed %d: parse %s: %v", seed, line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: ParseLine(Marshal(x)) is not x (-want +got):\n%s\nline: %s", seed, diff, line)
		}
		stored, err := Unmarshal(line)
		if err != nil {
			t.Fatalf("seed %d: unmarshal %s: %v", seed, line, err)
		}
		if diff := cmp.Diff(it, stored); diff != "" {
			t.Fatalf("seed %d: Unmarshal(Marshal(x)) is not x (-want +got):\n%s\nline: %s", seed, diff, line)
		}
		if strings.ContainsAny(string(line), "\n\r") {
			t.Fatalf("seed %d: a line holds a line break: %q", seed, line)
		}
	}
}

func TestAddedItemsRoundTripThroughExport(t *testing.T) {
	for name, body := range map[string]string{
		"text":  `{"content_type":"text","caption":"Hello"}`,
		"image": `{"content_type":"image","content_url":"https://a.example/i.png","tags":{"hashtags":["#One","two_2"]}}`,
		"video": `{"content_type":"video","content_url":"https://a.example/v.mp4","video_thumbnail":"https://a.example/v.png",
			"submission":{"username":"ann","email":"ann@mail.example","consent":"yes"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			it, err := ParseAdd([]byte(body), testOptions())
			if err != nil {
				t.Fatal(err)
			}
			it.ID = 7
			if diff := cmp.Diff(Line{Item: it}, mustLine(t, string(Marshal(it, nil)))); diff != "" {
				t.Errorf("import of the export (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFlatLinesKeepTheirID(t *testing.T) {
	if it := mustLine(t, `{"id":777,"content_type":"text","caption":"x"}`).Item; it.ID != 777 || it.Content.Text != "x" {
		t.Errorf("item %d with the text %q, want 777 with x", it.ID, it.Content.Text)
	}
	_, err := ParseLine([]byte(`{"id":0,"content_type":"text","caption":"x"}`), testOptions())
	var invalid *InvalidError
	if !errors.As(err, &invalid) || invalid.Member != "id" || invalid.Malformed {
		t.Errorf("id 0: %v, want a refusal of the member id", err)
	}
}

// minimal is the content of the smallest possible whole item.
const minimal = `"content":{"content_type":"text"}`

func TestParseLineReadsWholeItems(t *testing.T) {
	drawn := func(it *Item) { it.ShortCode = "" }
	base := func(change func(*Item)) Item {
		it := Item{ApprovalStatus: Pending, CreatedOn: "2026-11-20T08:00:00Z", Content: Content{ContentType: Text}}
		change(&it)
		return it
	}
	id := func(n int64) *int64 { return &n }
	for name, tc := range map[string]struct {
		line string
		want Item
	}{
		"the minimum": {`{` + minimal + `}`, base(func(*Item) {})},
		"nulls are absent": {
			`{"id":null,"campaign":null,"submission":null,"hashtag":null,"configuration":null,"tags":null,"activate_units":null,"claimed":null,
				"created_on":null,"approval_status":null,"content":{"content_type":"text","author":null,"media":null,"text":null,
				"platform_ref:direct":null,"platform_data":{"geo_data":null,"location":null}}}`,
			base(func(*Item) {}),
		},
		"empty strings and objects are absent": {
			`{"created_on":"","hashtag":{"id":0,"hashtag_text":""},"submission":{},"tags":{"vibe":[]},"content":{"content_type":"text","author":{"profile":{"name":""}},
				"media":{"media_urls":{}},"platform_data":{"geo_data":{"type":"Point","coordinates":{}},"location":{"name":""}}}}`,
			base(func(*Item) {}),
		},
		"unknown members are ignored": {
			`{"x":1,"default_activate_unit":"nonsense","content":{"content_type":"text","y":[{}],"author":{"z":1}}}`, base(func(*Item) {}),
		},
		"member names are exact": {`{"ID":5,"Featured":true,` + minimal + `}`, base(func(*Item) {})},
		"a number that is whole, however written": {
			`{"id":1.50e1,"campaign":1E3,` + minimal + `}`, base(func(it *Item) { it.ID = 15; it.Campaign = id(1000) }),
		},
		"the greatest id": {`{"id":9007199254740991,` + minimal + `}`, base(func(it *Item) { it.ID = MaxID })},
		"ids of 0 that were given are kept": {
			`{"campaign":0,"content":{"content_type":"text","author":{"id":0},"media":{"id":0}}}`,
			base(func(it *Item) {
				it.Campaign = id(0)
				it.Content.Author = &Author{ID: id(0)}
				it.Content.Media = &Media{ID: id(0)}
			}),
		},
		"ids of other systems are exact": {
			`{"hashtag":{"id":9223372036854775807},"content":{"content_type":"text","author":{"id":9007199254740993},"media":{"id":922337203685477580.7e1}}}`,
			base(func(it *Item) {
				it.Hashtag = &Hashtag{ID: math.MaxInt64}
				it.Content.Author = &Author{ID: id(9007199254740993)}
				it.Content.Media = &Media{ID: id(math.MaxInt64)}
			}),
		},
		"tags as objects and as strings": {
			`{"tags":{"vibe":[{"key":"b"},"a",{"key":"b","x":1}],"hashtags":["#Straße_1"]},` + minimal + `}`,
			base(func(it *Item) { it.Tags = []Tag{{"hashtags", "straße_1"}, {"vibe", "a"}, {"vibe", "b"}} }),
		},
		"a submission": {
			`{"submission":{"z":"1","email":"a@b.example"},` + minimal + `}`,
			base(func(it *Item) { it.Submission = json.RawMessage(`{"email":"a@b.example","z":"1"}`) }),
		},
		"claimed": {
			`{"claimed":true,` + minimal + `}`,
			base(func(it *Item) { it.Claimed = true }),
		},
		"timestamps in UTC, years, months and days as given": {
			`{"created_on":"2026-11-20t10:30:00.250+02:00","content":{"content_type":"text","created_on":"2015","social_platform_created_on":"2015-02-28","author":{"created_on":"2014-07"}}}`,
			base(func(it *Item) {
				it.CreatedOn = "2026-11-20T08:30:00.25Z"
				it.Content.CreatedOn = "2015"
				it.Content.SocialPlatformCreatedOn = "2015-02-28"
				it.Content.Author = &Author{CreatedOn: "2014-07"}
			}),
		},
		"the platform's reference": {
			`{"content":{"content_type":"text","social_platform":"tumblr","platform_ref:instagram":"1","platform_ref:tumblr":"2"}}`,
			base(func(it *Item) { it.Content.SocialPlatform = "tumblr"; it.Content.PlatformRef = "2" }),
		},
		"the reference of another platform": {
			`{"content":{"content_type":"text","social_platform":"tumblr","platform_ref:instagram":"1"}}`,
			base(func(it *Item) { it.Content.SocialPlatform = "tumblr"; it.Content.PlatformRef = "1" }),
		},
		"a reference that tells the platform": {
			`{"content":{"content_type":"text","platform_ref:instagram":"1"}}`,
			base(func(it *Item) { it.Content.SocialPlatform = "instagram"; it.Content.PlatformRef = "1" }),
		},
		"a byte order mark before it": {"\uFEFF{" + minimal + "}", base(func(*Item) {})},
		"configuration keeps its numbers": {
			`{"configuration":{"b":12345678901234567890.10,"a":1},` + minimal + `}`,
			base(func(it *Item) { it.Configuration = json.RawMessage(`{"a":1,"b":12345678901234567890.10}`) }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := *mustLine(t, tc.line).Item
			if len(got.ShortCode) != 10 {
				t.Errorf("short code %q: want 10 random characters", got.ShortCode)
			}
			drawn(&got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseLineKeepsLinks(t *testing.T) {
	it := mustLine(t, `{"shortened_permalink":"https://s.example/1",`+minimal+`}`).Item
	if it.ShortenedPermalink != "https://s.example/1" || it.ShortCode != "" {
		t.Errorf("permalink %q, code %q: want the imported permalink and no code", it.ShortenedPermalink, it.ShortCode)
	}
	if it := mustLine(t, `{"short_code":"abc123",`+minimal+`}`).Item; it.ShortCode != "abc123" {
		t.Errorf("short code %q: want the exported one", it.ShortCode)
	}
}

func TestParseLineUnits(t *testing.T) {
	for name, tc := range map[string]struct {
		units string
		ids   []int64
		whole []Unit
	}{
		"ids":              {`[5, 3, 5]`, []int64{5, 3}, nil},
		"objects of ids":   {`[{"id":5},{"id":3,"archived":false}]`, []int64{5, 3}, nil},
		"whole":            {`[{"id":5,"name":"Shop","external_id":"S","catalog_item":{"b":1,"a":2}}]`, []int64{5}, []Unit{{ID: 5, Name: "Shop", ExternalID: "S", CatalogItem: json.RawMessage(`{"a":2,"b":1}`)}}},
		"managed":          {`[{"id":5,"name":"Shop","managed":true},{"id":6,"managed":true}]`, []int64{5, 6}, []Unit{{ID: 5, Name: "Shop", Managed: true}, {ID: 6, Managed: true}}},
		"the first counts": {`[{"id":5,"name":"One"},{"id":5,"name":"Two"}]`, []int64{5}, []Unit{{ID: 5, Name: "One"}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := mustLine(t, `{"activate_units":`+tc.units+`,`+minimal+`}`)
			if diff := cmp.Diff(tc.ids, l.Item.Units); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.whole, l.Units); diff != "" {
				t.Errorf("whole units (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseLineTakesAddContentBodies(t *testing.T) {
	it := mustLine(t, `{"content_type":"text","caption":"Hello","content":null}`).Item
	if it.Content.Text != "Hello" || it.Content.SocialPlatform != Direct {
		t.Errorf("got %+v: want an added item", it.Content)
	}
}

// refused checks that err is an *InvalidError about the member.
func refused(t *testing.T, err error, malformed bool, member string) {
	t.Helper()
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok {
		t.Fatalf("error %v: want an *InvalidError", err)
	}
	if invalid.Malformed != malformed || invalid.Member != member || invalid.Reason == "" {
		t.Errorf("refused with malformed %v, member %q, reason %q: want malformed %v, member %q", invalid.Malformed, invalid.Member, invalid.Reason, malformed, member)
	}
}

func TestParseLineRefuses(t *testing.T) {
	long := strings.Repeat("x", MaxString+1)
	list := func(n int, element string) string { return "[" + strings.Repeat(element+",", n) + element + "]" }
	names := func(n int, value string) string {
		members := make([]string, n)
		for i := range members {
			members[i] = fmt.Sprintf(`"n%d":%s`, i, value)
		}
		return strings.Join(members, ",")
	}
	for name, tc := range map[string]struct {
		line      string
		malformed bool
		member    string
	}{
		"nothing":                        {``, true, ""},
		"blanks":                         {" \t", true, ""},
		"not JSON":                       {`{"content":`, true, ""},
		"not UTF-8":                      {"{\"content\":{\"content_type\":\"text\",\"text\":\"caf\xe9\"}}", true, ""},
		"two values":                     {`{` + minimal + `}{}`, true, ""},
		"an array":                       {`[]`, true, ""},
		"null":                           {`null`, true, ""},
		"too deep":                       {`{"configuration":` + strings.Repeat("[", 1e5) + strings.Repeat("]", 1e5) + `,` + minimal + `}`, true, ""},
		"half a surrogate pair":          {`{"content":{"content_type":"text","text":"\ud83d"}}`, true, ""},
		"surrogates in the wrong order":  {`{"content":{"content_type":"text","text":"\ude00\ud83d"}}`, true, ""},
		"content of a wrong type":        {`{"content":"x"}`, true, "content"},
		"no content type":                {`{"content":{}}`, true, "content.content_type"},
		"an unknown content type":        {`{"content":{"content_type":"audio"}}`, false, "content.content_type"},
		"an unknown status":              {`{"approval_status":"APP",` + minimal + `}`, false, "approval_status"},
		"id as a string":                 {`{"id":"5",` + minimal + `}`, true, "id"},
		"id as a fraction":               {`{"id":1.5,` + minimal + `}`, true, "id"},
		"id as nearly a whole number":    {`{"id":5.0000000000000000000000001,` + minimal + `}`, true, "id"},
		"id with a huge exponent":        {`{"id":1e999999999999,` + minimal + `}`, false, "id"},
		"id with a tiny exponent":        {`{"id":1e-999999999999,` + minimal + `}`, true, "id"},
		"id 0":                           {`{"id":0,` + minimal + `}`, false, "id"},
		"id below 0":                     {`{"id":-1,` + minimal + `}`, false, "id"},
		"id past 2^53-1":                 {`{"id":9007199254740992,` + minimal + `}`, false, "id"},
		"an author's id past 2^63-1":     {`{"content":{"content_type":"text","author":{"id":9223372036854775808}}}`, false, "content.author.id"},
		"campaign past 2^53-1":           {`{"campaign":9007199254740992,` + minimal + `}`, false, "campaign"},
		"campaign below 0":               {`{"campaign":-1,` + minimal + `}`, false, "campaign"},
		"featured as a number":           {`{"featured":1,` + minimal + `}`, true, "featured"},
		"a year as a number":             {`{"created_on":2015,` + minimal + `}`, true, "created_on"},
		"no month":                       {`{"created_on":"2015-13",` + minimal + `}`, false, "created_on"},
		"a day that does not exist":      {`{"created_on":"2015-02-29",` + minimal + `}`, false, "created_on"},
		"a time before the year 0":       {`{"created_on":"0000-01-01T00:00:00+01:00",` + minimal + `}`, false, "created_on"},
		"an author's name":               {`{"content":{"content_type":"text","author":{"profile":{"name":5}}}}`, true, "content.author.profile.name"},
		"a latitude as a string":         {`{"content":{"content_type":"text","platform_data":{"geo_data":{"coordinates":{"latitude":"1","longitude":2}}}}}`, true, "content.platform_data.geo_data.coordinates.latitude"},
		"a latitude over 90":             {`{"content":{"content_type":"text","platform_data":{"geo_data":{"coordinates":{"latitude":91,"longitude":2}}}}}`, false, "content.platform_data.geo_data.coordinates.latitude"},
		"a latitude without longitude":   {`{"content":{"content_type":"text","platform_data":{"geo_data":{"coordinates":{"latitude":1}}}}}`, false, "content.platform_data.geo_data.coordinates"},
		"a javascript link":              {`{"content":{"content_type":"text","author":{"profile":{"profile_link":" JavaScript:alert(1)"}}}}`, false, "content.author.profile.profile_link"},
		"a link with control characters": {`{"content":{"content_type":"text","media":{"original_url":"java\nscript:alert(1)"}}}`, false, "content.media.original_url"},
		"a long text":                    {`{"content":{"content_type":"text","text":"` + strings.Repeat("x", MaxText+1) + `"}}`, false, "content.text"},
		"a long name":                    {`{"content":{"content_type":"text","author":{"username":"` + long + `"}}}`, false, "content.author.username"},
		"a long configuration":           {`{"configuration":"` + strings.Repeat("x", MaxRaw) + `",` + minimal + `}`, false, "configuration"},
		"a number out of range":          {`{"configuration":{"a":[1e400]},` + minimal + `}`, false, "configuration"},
		"submission as a string":         {`{"submission":"x",` + minimal + `}`, true, "submission"},
		"a submission's number":          {`{"submission":{"age":5},` + minimal + `}`, true, "submission.age"},
		"a submission's long value":      {`{"submission":{"x":"` + long + `"},` + minimal + `}`, false, "submission.x"},
		"a submission's empty name":      {`{"submission":{"":"x"},` + minimal + `}`, false, "submission"},
		"a submission's long name":       {`{"submission":{"` + long + `":"x"},` + minimal + `}`, false, "submission"},
		"tags as a list":                 {`{"tags":["a"],` + minimal + `}`, true, "tags"},
		"a namespace of a string":        {`{"tags":{"vibe":"a"},` + minimal + `}`, true, "tags.vibe"},
		"a tag of a number":              {`{"tags":{"vibe":["a",5]},` + minimal + `}`, true, "tags.vibe[1]"},
		"a tag without a key":            {`{"tags":{"vibe":[{}]},` + minimal + `}`, true, "tags.vibe[0].key"},
		"a capital in a key":             {`{"tags":{"vibe":["Bold"]},` + minimal + `}`, false, "tags.vibe[0]"},
		"a reserved namespace":           {`{"tags":{"ugc":["a"]},` + minimal + `}`, false, "tags"},
		"a submission of many":           {`{"submission":{` + names(MaxSubmissionMembers+1, `""`) + `},` + minimal + `}`, false, "submission"},
		"units as an object":             {`{"activate_units":{},` + minimal + `}`, true, "activate_units"},
		"a unit of a string":             {`{"activate_units":["5"],` + minimal + `}`, true, "activate_units[0]"},
		"a unit without an id":           {`{"activate_units":[5,{"name":"x"}],` + minimal + `}`, true, "activate_units[1].id"},
		"a unit with the id 0":           {`{"activate_units":[0],` + minimal + `}`, false, "activate_units[0]"},
		"a unit's data link":             {`{"activate_units":[{"id":1,"name":"x","click_through_url":"data:text/html,x"}],` + minimal + `}`, false, "activate_units[0].click_through_url"},
		"many units":                     {`{"activate_units":` + list(MaxUnits, `5`) + `,` + minimal + `}`, false, "activate_units"},
		"an odd short code":              {`{"short_code":"a/b",` + minimal + `}`, false, "short_code"},
		"a wrong type comes first":       {`{"id":-1,"featured":"yes",` + minimal + `}`, true, "featured"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := ParseLine([]byte(tc.line), testOptions())
			if err == nil {
				t.Fatalf("accepted as %+v", l.Item)
			}
			refused(t, err, tc.malformed, tc.member)
		})
	}
}

func TestErrorsContainNoPersonalData(t *testing.T) {
	for _, line := range []string{
		`{"submission":{"email":"secret` + strings.Repeat("x", MaxString) + `"},` + minimal + `}`,
		`{"content_type":"text","caption":"x","submission":{"email":["secret"]}}`,
		`{"submission":{"email":"secret"} oops}`,
		`{"submission":{"secret` + strings.Repeat("x", MaxSubmissionKey) + `":"a"},` + minimal + `}`,
		`{"submission":"secret\ud800"}`,
	} {
		_, err := ParseLine([]byte(line), testOptions())
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v: want one without what was sent", err)
		}
	}
}

func TestUnmarshalRefusesDamage(t *testing.T) {
	for _, stored := range []string{``, `{`, `{"id":"x"}`, `[]`} {
		if _, err := Unmarshal([]byte(stored)); err == nil {
			t.Errorf("unmarshal %q: want an error", stored)
		}
	}
}

func TestUnmarshalIgnoresLimits(t *testing.T) {
	want := &Item{ID: 1, Content: Content{Text: strings.Repeat("x", MaxText+1)}, Units: slices.Repeat([]int64{1}, 1)}
	for i := range MaxUnits {
		want.Units = append(want.Units, int64(i+2))
	}
	got, err := Unmarshal(Marshal(want, nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
