package item

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/query"
)

// names are names of authors. The value is true if the name may contain a mail address.
var names = map[string]bool{
	"": false, "jo": false, "@": false, "@alice": false, "alice@": false, "DJ @ Home": false, "photo by @jo.smith": false, "(@alice)": false, "@@alice": false,
	"@alice@pixelfed.example": false, "Alice @alice@pixelfed.example": false, "me @ work, always": false, "@ 10.30": false, "@alice @bob": false,
	"@jo_s.x-y@social.example!": false, "photo by @jo@social.example, thanks": false, "@jo&amp;co": false, "&copy;@jo": false,

	"jo@mail.example": true, " JO@MAIL.EXAMPLE ": true, "jo@localhost": true, "DJ@Home": true, "jo+x@mail.example": true, "jo@[192.0.2.1]": true, "用户@例子.测试": true,
	"Jo <jo@mail.example>": true, "<jo@mail.example>": true, "mailto:jo@mail.example": true, "mailto:jo%40mail.example": true, "jo&#64;mail.example": true,
	`"jo smith"@mail.example`: true, "jo(work)@mail.example": true, "(jo@mail.example)": true, "[jo@mail.example]": true, "jo@mail.example@": true,
	"jo @ mail.example": true, "jo@ mail.example": true, "jo＠mail.example": true, "jo\u200b@mail.example": true, "jo@\u00admail.example": true, "jo@mail.example,": true,
	"x@alice@pixelfed.example": true, "@alice jo@mail.example": true, "@alice@pixelfed.example jo@mail.example": true, "@@alice@pixelfed.example": true, "jo\n@\nmail.example": true,
	"@jo,jo@mail.example": true, "@alice<jo@mail.example>": true, "@jo@ mail.example": true, "@jo@mail.example>": true,
	"jo&#x40;mail.example": true, "jo&#X40;mail.example": true, "jo&#064;mail.example": true, "jo&#64mail.example": true, "jo&commat;mail.example": true,
	"jo&shy;@mail.example": true, "jo&copy@mail.example": true,
}

func TestHoldsAddress(t *testing.T) {
	for name, want := range names {
		if got := holdsAddress(name); got != want {
			t.Errorf("holdsAddress(%q) = %v, want %v", name, got, want)
		}
	}
}

// TestHandlesOfAuthors checks that POST and both forms of an import keep handles, and that only a whole item keeps a mail address.
func TestHandlesOfAuthors(t *testing.T) {
	for name, hidden := range names {
		if strings.TrimSpace(name) == "" {
			continue
		}
		quoted := string(AppendString(nil, name))
		added, err := ParseAdd([]byte(`{"content_type":"text","caption":"x","author":{"username":`+quoted+`,"author_ref":"tw-1"}}`), testOptions())
		if err != nil {
			t.Fatal(err)
		}
		if got := added.Content.Author; (got.Username != name) != hidden || got.PlatformID != "tw-1" {
			t.Errorf("POST of %q: author %+v, want hidden: %v", name, got, hidden)
		}
		line, err := ParseLine([]byte(`{"content":{"content_type":"text","text":"x","author":{"username":`+quoted+`}}}`), testOptions())
		if err != nil {
			t.Fatal(err)
		}
		if got := line.Item.Content.Author.Username; got != name {
			t.Errorf("import of %q: %q", name, got)
		}
	}
	// A handle that contains the submitted address is hidden.
	added, err := ParseAdd([]byte(`{"content_type":"text","caption":"x","author":{"username":"@jo@mail.example","author_ref":"ref @ JO@mail.example"},"submission":{"email":"jo@mail.example"}}`), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if a := added.Content.Author; strings.Contains(a.Username+a.PlatformID, "@") {
		t.Errorf("author %+v", a)
	}
}

// FuzzAuthor checks that the public form of a submitted item contains neither the submitted email nor a mail address of the author.
func FuzzAuthor(f *testing.F) {
	for name := range names {
		f.Add(name, "", name, "jo@mail.example")
		f.Add("", name, name, name)
	}
	handle := regexp.MustCompile(`^@[\pL\pN_.-]+@[\pL\pN_.-]+[.,;:!?]*$`)
	address := regexp.MustCompile(`(?i)[a-z0-9._%+-]@[a-z0-9]`)
	f.Fuzz(func(t *testing.T, username, ref, name, email string) {
		quote := func(s string) string { return string(AppendString(nil, s)) }
		it, err := ParseAdd([]byte(`{"content_type":"text","caption":"x","author":{"username":`+quote(username)+`,"author_ref":`+quote(ref)+
			`},"submission":{"username":`+quote(name)+`,"email":`+quote(email)+`}}`), testOptions())
		if err != nil {
			return
		}
		var shown struct {
			Content struct {
				Author struct {
					Username   string
					PlatformID string `json:"platform_id"`
				}
			}
		}
		if err := json.Unmarshal(Encode(it).Append(nil, query.Public, Slots{}), &shown); err != nil {
			t.Fatal(err)
		}
		for _, public := range []string{shown.Content.Author.Username, shown.Content.Author.PlatformID} {
			submitted := strings.ToLower(strings.TrimSpace(email))
			if strings.Contains(submitted, "@") && len(submitted) > 1 && strings.Contains(strings.ToLower(public), submitted) {
				t.Errorf("%q, %q, %q, %q: %q contains the email", username, ref, name, email, public)
			}
			for _, reading := range readings(public) {
				for word := range strings.FieldsSeq(reading) {
					if address.MatchString(word) && !handle.MatchString(word) {
						t.Errorf("%q, %q, %q, %q: %q contains an address", username, ref, name, email, public)
					}
				}
			}
		}
	})
}
