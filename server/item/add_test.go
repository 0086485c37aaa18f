package item

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func mustAdd(t *testing.T, body string) *Item {
	t.Helper()
	it, err := ParseAdd([]byte(body), testOptions())
	if err != nil {
		t.Fatalf("add %s: %v", body, err)
	}
	return it
}

func TestParseAdd(t *testing.T) {
	const url = "https://a.example/i.png"
	base := func(change func(*Item)) *Item {
		it := &Item{
			ApprovalStatus: Pending, CreatedOn: "2026-11-20T08:00:00Z",
			Content: Content{ContentState: Active, SocialPlatform: Direct, CreatedOn: "2026-11-20T08:00:00Z", ContentType: Image, OriginalURL: url, Media: &Media{OriginalURL: url}},
		}
		change(it)
		return it
	}
	for name, tc := range map[string]struct {
		body string
		want *Item
	}{
		"an image": {`{"content_type":"image","content_url":"` + url + `"}`, base(func(*Item) {})},
		"an image with a caption": {
			`{"content_type":"image","content_url":"` + url + `","caption":"On the beach","approval_status":"app"}`,
			base(func(it *Item) { it.Content.Text = "On the beach"; it.ApprovalStatus = Approved }),
		},
		"a video": {
			`{"content_type":"video","content_url":"` + url + `","video_thumbnail":"https://a.example/t.png"}`,
			base(func(it *Item) {
				it.Content.ContentType = Video
				it.Content.Media = &Media{OriginalURL: url, SmallImage: "https://a.example/t.png", MediumImage: "https://a.example/t.png", LargeImage: "https://a.example/t.png"}
			}),
		},
		"a text": {
			`{"content_type":"text","caption":" Hello ","id":5,"featured":true,"x":{}}`,
			base(func(it *Item) {
				it.Content.ContentType, it.Content.Text, it.Content.OriginalURL, it.Content.Media = Text, " Hello ", "", nil
			}),
		},
		"a text with a URL": {
			`{"content_type":"text","caption":"Hello","content_url":"HTTP://a.example:8080/x y"}`,
			base(func(it *Item) {
				it.Content.ContentType, it.Content.Text, it.Content.OriginalURL, it.Content.Media = Text, "Hello", "HTTP://a.example:8080/x y", nil
			}),
		},
		"nulls and blanks are absent": {
			`{"content_type":"image","content_url":"` + url + `","video_thumbnail":" ","caption":null,"content_ref":"","submission":null,"tags":null,"author":null,"approval_status":""}`,
			base(func(*Item) {}),
		},
		"tags": {
			`{"content_type":"image","content_url":"` + url + `","tags":{"hashtags":["#Summer","summer","sun_2"],"marketer_tags":["hero"],"my vibe":["b","a"]}}`,
			base(func(it *Item) {
				it.Tags = []Tag{{"hashtags", "summer"}, {"hashtags", "sun_2"}, {"marketer_tags", "hero"}, {"my vibe", "a"}, {"my vibe", "b"}}
			}),
		},
		"a submission": {
			`{"content_type":"image","content_url":"` + url + `","submission":{"username":"ann","consent":"yes","none":null}}`,
			base(func(it *Item) { it.Submission = json.RawMessage(`{"consent":"yes","username":"ann"}`) }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustAdd(t, tc.body)
			if !regexp.MustCompile(`^[0-9A-Za-z]{10}$`).MatchString(got.ShortCode) {
				t.Errorf("short code %q: want 10 letters and digits", got.ShortCode)
			}
			if !regexp.MustCompile(`^[0-9A-Za-z]{20}$`).MatchString(got.Content.PlatformRef) {
				t.Errorf("content_ref %q: want 20 letters and digits made up", got.Content.PlatformRef)
			}
			ignored := []cmp.Option{cmpopts.IgnoreFields(Item{}, "ShortCode"), cmpopts.IgnoreFields(Content{}, "PlatformRef", "Author")}
			if diff := cmp.Diff(tc.want, got, ignored...); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseAddKeepsTheReference(t *testing.T) {
	if it := mustAdd(t, `{"content_type":"text","caption":"x","content_ref":"r 1"}`); it.Content.PlatformRef != "r 1" {
		t.Errorf("content_ref %q: want the one given", it.Content.PlatformRef)
	}
}

func TestParseAddAuthors(t *testing.T) {
	const random = "random"
	hash := func(s string) string { return authorHash([]byte("key"), s) }
	for name, tc := range map[string]struct {
		submission, author string
		username, ref      string
	}{
		"nobody":                               {"", "", "", random},
		"a full submission":                    {`{"username":"Ann","email":" Ann@Mail.example"}`, "", "Ann", hash("ann@mail.example")},
		"an email alone":                       {`{"email":"ann@mail.example"}`, "", "", hash("ann@mail.example")},
		"a username alone":                     {`{"username":"Ann"}`, "", "", hash("ann")},
		"neither":                              {`{"consent":"yes"}`, "", "", random},
		"blanks are nothing":                   {`{"username":" ","email":""}`, "", "", random},
		"a username that is an address":        {`{"username":"ann@mail.example","email":"bob@mail.example"}`, "", hash("bob@mail.example"), hash("bob@mail.example")},
		"an explicit author":                   {"", `{"username":"ann","author_ref":"529"}`, "ann", "529"},
		"an explicit name":                     {"", `{"username":"ann"}`, "ann", random},
		"an explicit reference":                {"", `{"author_ref":"529"}`, "", "529"},
		"explicit wins":                        {`{"username":"Ann","email":"ann@mail.example"}`, `{"username":"beach","author_ref":"529"}`, "beach", "529"},
		"explicit name, derived reference":     {`{"username":"Ann","email":"ann@mail.example"}`, `{"username":"beach"}`, "beach", hash("ann@mail.example")},
		"explicit reference hides the name":    {`{"username":"Ann","email":"ann@mail.example"}`, `{"author_ref":"529"}`, "", "529"},
		"an empty author is none":              {`{"username":"Ann","email":"ann@mail.example"}`, `{"username":" "}`, "Ann", hash("ann@mail.example")},
		"an explicit address":                  {"", `{"username":"Ann@mail.example"}`, hash("ann@mail.example"), hash("ann@mail.example")},
		"an explicit address with a reference": {"", `{"username":"ann@mail.example","author_ref":"529"}`, hash("ann@mail.example"), "529"},
		"a reference that is the email":        {`{"email":"ann@mail.example"}`, `{"author_ref":"ANN@mail.example "}`, "", hash("ann@mail.example")},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"content_type":"text","caption":"x"`
			if tc.submission != "" {
				body += `,"submission":` + tc.submission
			}
			if tc.author != "" {
				body += `,"author":` + tc.author
			}
			got := mustAdd(t, body+`}`)
			want := &Author{Username: tc.username, PlatformID: tc.ref}
			if tc.ref == random {
				want.PlatformID = got.Content.Author.PlatformID
				if !regexp.MustCompile(`^[0-9A-Za-z]{20}$`).MatchString(want.PlatformID) {
					t.Errorf("author_ref %q: want 20 letters and digits", want.PlatformID)
				}
			}
			if diff := cmp.Diff(want, got.Content.Author); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			got.Submission = nil
			if strings.Contains(string(Marshal(got, nil)), "@") {
				t.Errorf("an address is in the public part: %+v", got.Content.Author)
			}
		})
	}
}

func TestAuthorHashDependsOnTheKey(t *testing.T) {
	a, b := authorHash([]byte("one"), "ann"), authorHash([]byte("two"), "ann")
	// The expected value was computed with another implementation of HMAC-SHA-256.
	if got := authorHash([]byte("key"), "ann@mail.example"); got != "15fa08038fcfa29a65576ce0e4c1080f" {
		t.Errorf("hash %q", got)
	}
	if a == b || !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(a) {
		t.Errorf("hashes %q and %q: want two, of 32 hexadecimal characters", a, b)
	}
}

func TestParseAddNeedsTheAuthorKey(t *testing.T) {
	const body = `{"content_type":"text","caption":"x","submission":{"email":"ann@mail.example"}}`
	if _, err := ParseAdd([]byte(body), ParseOptions{}); !errors.Is(err, ErrNoAuthorKey) {
		t.Errorf("error %v, want ErrNoAuthorKey", err)
	}
	if _, err := ParseAdd([]byte(`{"content_type":"text","caption":"x"}`), ParseOptions{}); err != nil {
		t.Errorf("without a submission: %v", err)
	}
}

func TestParseAddRefuses(t *testing.T) {
	image := func(members string) string {
		return `{"content_type":"image","content_url":"https://a.example/i.png",` + members + `}`
	}
	for name, tc := range map[string]struct {
		body      string
		malformed bool
		member    string
	}{
		"nothing":                     {``, true, ""},
		"not JSON":                    {`content_type=image`, true, ""},
		"a list":                      {`[{}]`, true, ""},
		"no content type":             {`{"caption":"x"}`, true, "content_type"},
		"a blank content type":        {`{"content_type":" "}`, true, "content_type"},
		"content type as a number":    {`{"content_type":1}`, true, "content_type"},
		"an unknown content type":     {`{"content_type":"audio","content_url":"https://a.example/"}`, false, "content_type"},
		"a text without a caption":    {`{"content_type":"text"}`, false, "caption"},
		"a text with a blank one":     {`{"content_type":"text","caption":" \n"}`, false, "caption"},
		"an image without a URL":      {`{"content_type":"image"}`, false, "content_url"},
		"a video without a URL":       {`{"content_type":"video","video_thumbnail":"https://a.example/t.png"}`, false, "content_url"},
		"a video without a thumbnail": {`{"content_type":"video","content_url":"https://a.example/v.mp4"}`, false, "video_thumbnail"},
		"a relative URL":              {`{"content_type":"image","content_url":"/i.png"}`, false, "content_url"},
		"a URL without a host":        {`{"content_type":"image","content_url":"https:///i.png"}`, false, "content_url"},
		"a URL that is a port":        {`{"content_type":"image","content_url":"https://:443/i.png"}`, false, "content_url"},
		"another scheme":              {`{"content_type":"image","content_url":"ftp://a.example/i.png"}`, false, "content_url"},
		"a script":                    {`{"content_type":"image","content_url":"javascript:alert(1)"}`, false, "content_url"},
		"a thumbnail of a script":     {`{"content_type":"video","content_url":"https://a.example/v.mp4","video_thumbnail":"javascript:alert(1)"}`, false, "video_thumbnail"},
		"an unknown status":           {image(`"approval_status":"approved"`), false, "approval_status"},
		"a status as a boolean":       {image(`"approval_status":true`), true, "approval_status"},
		"a submission as a list":      {image(`"submission":[]`), true, "submission"},
		"an email as a number":        {image(`"submission":{"email":5}`), true, "submission.email"},
		"an author as a string":       {image(`"author":"ann"`), true, "author"},
		"an author_ref as a number":   {image(`"author":{"author_ref":5}`), true, "author.author_ref"},
		"hashtags as a string":        {image(`"tags":{"hashtags":"x"}`), true, "tags.hashtags"},
		"a hashtag with a blank":      {image(`"tags":{"hashtags":["a b"]}`), false, "tags.hashtags[0]"},
		"an empty hashtag":            {image(`"tags":{"hashtags":["#"]}`), false, "tags.hashtags[0]"},
		"a tag with a digit":          {image(`"tags":{"marketer_tags":["a","b1"]}`), false, "tags.marketer_tags[1]"},
		"a null tag":                  {image(`"tags":{"marketer_tags":[null]}`), true, "tags.marketer_tags[0]"},
		"a namespace with a dot":      {image(`"tags":{"a.b":["a"]}`), false, "tags"},
		"a reference as a number":     {image(`"content_ref":5`), true, "content_ref"},
		"a long caption":              {image(`"caption":"` + strings.Repeat("x", MaxText+1) + `"`), false, "caption"},
		"a long URL":                  {`{"content_type":"image","content_url":"https://a.example/` + strings.Repeat("x", MaxString) + `"}`, false, "content_url"},
	} {
		t.Run(name, func(t *testing.T) {
			it, err := ParseAdd([]byte(tc.body), testOptions())
			if err == nil {
				t.Fatalf("accepted as %+v", it)
			}
			refused(t, err, tc.malformed, tc.member)
		})
	}
}

func TestDraw(t *testing.T) {
	broken := errors.New("broken")
	if _, err := NewShortCode(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the source", err)
	}
	// NewShortCode must skip 255 and 248, because they would make the first characters more frequent.
	code, err := NewShortCode(bytes.NewReader(append([]byte{255, 0, 248, 61, 62, 123, 247}, make([]byte, 64)...)))
	if err != nil || code != "0z0zz00000" {
		t.Errorf("code %q, error %v: want 0z0zz00000", code, err)
	}
	seen := map[string]bool{}
	for range 1000 {
		if code, err = NewShortCode(nil); err != nil || seen[code] {
			t.Fatalf("code %q, error %v: want another one each time", code, err)
		}
		seen[code] = true
	}
}

func TestParsingFailsWithoutRandomness(t *testing.T) {
	broken := errors.New("broken")
	for name, source := range map[string]io.Reader{
		"none":           iotest.ErrReader(broken),
		"for the author": io.MultiReader(bytes.NewReader(make([]byte, 32)), iotest.ErrReader(broken)),
		"and the item":   io.MultiReader(bytes.NewReader(make([]byte, 64)), iotest.ErrReader(broken)),
	} {
		o := testOptions()
		o.Rand = source
		if it, err := ParseAdd([]byte(`{"content_type":"text","caption":"x"}`), o); it != nil || !errors.Is(err, broken) {
			t.Errorf("%s: item %v, error %v: want no item and the source's error", name, it, err)
		}
	}
	o := testOptions()
	o.Rand = iotest.ErrReader(broken)
	if l, err := ParseLine([]byte(`{`+minimal+`}`), o); l.Item != nil || !errors.Is(err, broken) {
		t.Errorf("item %v, error %v: want no item and the source's error", l.Item, err)
	}
}
