package httpapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestWords checks which clauses the server proposes for words. Each wanted clause has the form "query (detail, count)". It compares the
// completions that replace words, in their order, and only as many as it wants.
func TestWords(t *testing.T) {
	a := newApp(t)
	a.write(shop, `{"id":5001,"approval_status":"app","created_on":"2026-10-05T00:00:00Z","hashtag":{"hashtag_text":"sunny","id":7},
		"content":{"content_type":"text","text":"quokka","platform_data":{"location":{"name":"Rottnest Island"}}}}`)
	for q, want := range map[string][]string{
		"instagram":                            {"social_platform:instagram (Platform is Instagram, 10)"},
		"insta":                                {"social_platform:instagram (Platform is Instagram, 10)"},
		"instagarm":                            {"social_platform:instagram (Platform is Instagram, 10)"},
		"video":                                {"content_type:video (Type is video, 20)", "tags.kinds.key:video (items with the tag kinds:video, 20)"},
		"Videos":                               {"content_type:video (Type is video, 20)"},
		"vid":                                  {"content_type:video (Type is video, 20)"},
		"approved":                             {"approval_status:app (Status is approved, 31)"},
		"aproved":                              {"approval_status:app (Status is approved, 31)"},
		"october 2026":                         {"created_on:2026-10 (Added in October 2026, 32)"},
		"2026-10":                              {"created_on:2026-10 (Added in October 2026, 32)"},
		"october":                              {"created_on:2026-10 (Added in October 2026, 32)"},
		"today":                                {`created_on:"now/d" (Added today, 0)`},
		"last week":                            {"created_on:[now-1w/w TO now/w} (Added last week, 7)"},
		"last 30 days":                         {"created_on:[now-30d TO now] (Added in the last 30 days, 30)"},
		"1012":                                 {"id:1012 (Item 1012, 1)"},
		"12":                                   {"campaign:12 (Campaign is 12, 30)"},
		"99999999999999999999":                 {},
		"2026":                                 {"created_on:2026 (Added in 2026, 61)"},
		"@author1":                             {"author:author1 (Author is author1, 15)"},
		"@auth":                                {"author:author0 (Author is author0, 15)", "author:author1 (Author is author1, 15)"},
		"author3":                              {"author:author3 (Author is author3, 15)"},
		"#sun":                                 {"hashtag.hashtag_text:sunny (Hashtag is sunny, 1)"},
		"#summ":                                {"tags.marketer_tags.key:summer (items with the tag marketer_tags:summer, 12)"},
		"sumer":                                {"tags.marketer_tags.key:summer (items with the tag marketer_tags:summer, 12)"},
		"#sumer":                               {"tags.marketer_tags.key:summer (items with the tag marketer_tags:summer, 12)"},
		"rottnest":                             {"content.platform_data.location.name:rottnest (Place contains rottnest, 1)"},
		"bech":                                 {"bech~ (Words similar to bech, 19)"},
		"beach":                                {"tags.hashtags.key:beach_2026 (items with the tag hashtags:beach_2026, 7)"},
		"nothinglikethis":                      {},
		"beach instagram":                      {"beach AND social_platform:instagram (Platform is Instagram, 10)"},
		"beach october 2026":                   {"beach AND created_on:2026-10 (Added in October 2026, 32)"},
		"beach AND last week":                  {"beach AND created_on:[now-1w/w TO now/w} (Added last week, 7)"},
		"approved instagram photos":            {"approval_status:app AND social_platform:instagram AND content_type:image (Status is approved, Platform is Instagram, Type is image, 5)"},
		"photos of beach from October 2026":    {"content_type:image AND beach AND created_on:2026-10 (Type is image, with the word beach, Added in October 2026, 3)"},
		"instagram beach":                      {"social_platform:instagram AND beach (Platform is Instagram, with the word beach, 3)"},
		"(sunset) instagram @author0":          {"(sunset) AND social_platform:instagram AND author:author0 (Platform is Instagram, Author is author0, 5)"},
		strings.Repeat("instagram ", 13) + "x": {}, // too many words to combine
		"approved or videos":                   {"approved OR videos (With and, or and not as operators, 0)"},
		"beach OR city insta":                  {"(beach OR city) AND social_platform:instagram (Platform is Instagram, 10)"},
		"(beach OR city insta":                 {"((beach OR city) AND social_platform:instagram (Platform is Instagram, 10)"},
		"city (a b (c) insta|) x":              {"city ((a b (c)) AND social_platform:instagram) x (Platform is Instagram, 10)"},
		"beach -city insta|":                   {"(beach -city) AND social_platform:instagram (Platform is Instagram, 10)"},
		"a AND b insta| c":                     {"a AND b AND social_platform:instagram c (Platform is Instagram, 10)"},
		"beach -insta":                         {"beach -social_platform:instagram (Platform is Instagram, 10)"},
		"(id:1 october| 2026)":                 {"(id:1 AND created_on:2026-10 2026) (Added in October 2026, 32)"},
		`"october 2026"`:                       {},
		"text:instagram":                       {},
		"insta|:x":                             {},
		"beach and sunset":                     {"beach AND sunset (With and, or and not as operators, 4)"},
		"beach and submission:":                {},
		"not instagram":                        {"NOT instagram (With and, or and not as operators, 61)", "not AND social_platform:instagram (Platform is Instagram, 10)"},
		"instagram [TO":                        {},
		"ü 😀 instagram|":                       {"(ü 😀) AND social_platform:instagram (Platform is Instagram, 10)"},
		strings.Repeat("x ", 9000):             {},
	} {
		t.Run(q[:min(len(q), 40)], func(t *testing.T) {
			if !strings.Contains(q, "|") {
				q += "|"
			}
			got := clausesFor(t, a, q, "ro")
			if len(want) == 0 && len(got) > 0 || !slices.Equal(got[:min(len(got), len(want))], want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// clausesFor returns the completions of a query that replace words, in the form "query (detail, count)".
func clausesFor(t *testing.T, a *app, q, token string) []string {
	t.Helper()
	var got struct {
		Completions []struct {
			Text, Kind, Detail string
			Start, End         int
			Count              *int64
		}
	}
	if err := json.Unmarshal(a.do(call{url: suggestURL(q), token: token}).body, &got); err != nil {
		t.Fatal(err)
	}
	text := utf16.Encode([]rune(strings.Replace(q, "|", "", 1)))
	var clauses []string
	for _, s := range got.Completions {
		if s.Count != nil && (s.Kind == "clause" || s.Kind == "tag") {
			whole := slices.Concat(text[:s.Start], utf16.Encode([]rune(s.Text)), text[s.End:])
			clauses = append(clauses, fmt.Sprintf("%s (%s, %d)", string(utf16.Decode(whole)), s.Detail, *s.Count))
		}
	}
	return clauses
}

// TestProposedClausesFindTheirItems checks that each proposed clause finds as many items as its count says.
func TestProposedClausesFindTheirItems(t *testing.T) {
	a := newApp(t)
	checked := 0
	for _, words := range []string{"instagram", "vid", "approved", "oct", "last week", "last 3 days", "1012", "12", "@author", "author", "#summ", "sumer", "bech", "beach and sunset", "not river", "approved instagram photos", "photos of beach"} {
		clauses := clausesFor(t, a, words+"|", "ro")
		if strings.Contains(words, " ") {
			clauses = clauses[:1] // only the first one replaces all words
		}
		for _, clause := range clauses {
			i := strings.LastIndex(clause, " (")
			count := clause[strings.LastIndex(clause, " ")+1 : len(clause)-1]
			a.do(call{url: q(clause[:i], "page_size=100"), token: "ro", contains: []string{`"total_results":` + count + ","}})
			checked++
		}
	}
	if checked < 15 {
		t.Errorf("%d clauses: too few", checked)
	}
}

// TestHintsAreNotWarnings checks that a query with a hint has no warning in other responses: it can be right as it is.
func TestHintsAreNotWarnings(t *testing.T) {
	a := newApp(t)
	a.do(call{url: suggestURL("salt and pepper|"), token: "ro", contains: []string{`"severity":"hint","in":"q","start":5,"end":8,"message":"operators are in upper case`}})
	if got := a.do(call{url: q("salt and pepper"), token: "ro"}).header.Get("Warning"); got != "" {
		t.Errorf("the warning %s", got)
	}
}

// TestScopedWords checks that the counts of proposed clauses include only items that the token may read, and that values of other items are
// not proposed.
func TestScopedWords(t *testing.T) {
	a := newScopedApp(t)
	a.write(shop, `{"id":2001,"approval_status":"rej","created_on":"2019-03-05T00:00:00Z","campaign":77,"hashtag":{"hashtag_text":"zebra"},
		"content":{"content_type":"text","text":"unreleased","social_platform":"zulu","author":{"username":"zoe"},"platform_data":{"location":{"name":"Zug"}}},"tags":{"zoo":["zebu"]}}`)
	for words, all := range map[string]string{
		"rejected": "approval_status:rej (Status is rejected, 16)", "2001": "id:2001 (Item 2001, 1)", "77": "campaign:77 (Campaign is 77, 1)",
		"zul": "social_platform:zulu (Platform is Zulu, 1)", "@zo": "author:zoe (Author is zoe, 1)", "#zeb": "hashtag.hashtag_text:zebra (Hashtag is zebra, 1)",
		"zeb": "hashtag.hashtag_text:zebra (Hashtag is zebra, 1)", "zug": "content.platform_data.location.name:zug (Place contains zug, 1)",
		"zuly": "social_platform:zulu (Platform is Zulu, 1)", "unreleasd": "unreleasd~ (Words similar to unreleasd, 1)",
		"unreleased or nothing": "unreleased OR nothing (With and, or and not as operators, 1)", "march 2019": "created_on:2019-03 (Added in March 2019, 1)",
	} {
		if got := clausesFor(t, a, words+"|", "ro"); len(got) == 0 || got[0] != all {
			t.Errorf("%s: %q, want %s", words, got, all)
		}
		for _, token := range []string{"published", "editor"} {
			for _, clause := range clausesFor(t, a, words+"|", token) {
				if !strings.HasSuffix(clause, ", 0)") && (strings.Contains(clause, "z") || strings.Contains(clause, all)) {
					t.Errorf("%s, for %s: %s", words, token, clause)
				}
			}
		}
	}
}
