package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// suggestURL returns the URL of a request for suggestions. In the query, | marks the position.
func suggestURL(q string, more ...string) string {
	before, after, marked := strings.Cut(q, "|")
	u := "/v2/content/suggest?q=" + url.QueryEscape(before+after)
	if marked {
		u += fmt.Sprintf("&position=%d", len(utf16.Encode([]rune(before))))
	}
	return u + strings.Join(append([]string{""}, more...), "&")
}

// TestCompletions checks the completions of each query. first contains the queries that result from the first completions, in the form
// kind:query. lacks contains the kinds that no completion may have.
func TestCompletions(t *testing.T) {
	a := newApp(t)
	for q, c := range map[string]struct {
		token string
		first []string
		lacks []string
	}{
		"":                   {first: []string{"field:approval_status:", "field:social_platform:", "field:content_type:", "field:created_on:"}},
		"appr|":              {first: []string{"field:approval_status:"}},
		"APPR|":              {first: []string{"field:approval_status:"}},
		"aut|":               {first: []string{"field:author:", "field:author.id:"}},
		"content.author.us|": {first: []string{"field:content.author.username:"}},
		"usern|":             {first: []string{"field:author:"}}, // the typed text is a part of the field's name
		"te|xt:a":            {first: []string{"field:text:a"}, lacks: []string{"operator"}},
		"ü 😀 te|":            {first: []string{"field:ü 😀 text:"}},
		"a |":                {first: []string{"operator:a AND", "operator:a OR", "operator:a NOT", "field:a approval_status:"}},
		"a A|":               {first: []string{"operator:a AND", "field:a approval_status:"}},
		"N|":                 {first: []string{"operator:NOT"}},
		"NOT |":              {first: []string{"field:NOT approval_status:"}, lacks: []string{"operator"}},
		"(|":                 {first: []string{"field:(approval_status:"}, lacks: []string{"operator"}},
		"(text:beach AND approval_status:|": {first: []string{
			"enum:(text:beach AND approval_status:app", "enum:(text:beach AND approval_status:rej", "enum:(text:beach AND approval_status:pen",
		}},
		"approval_status:R|":             {first: []string{"enum:approval_status:rej"}},
		"approval_status:(app OR p|":     {first: []string{"enum:approval_status:(app OR pen"}},
		"approval_status:app|":           {first: []string{"enum:approval_status:app"}},
		"featured:|":                     {first: []string{"enum:featured:true", "enum:featured:false"}},
		"author:|":                       {first: []string{"value:author:author0"}},
		`author:"auth|`:                  {first: []string{`value:author:"author0"`}},
		`author:"auth| AND x`:            {first: []string{`value:author:"author0" AND x`}},
		"campaign:1|":                    {first: []string{"value:campaign:12", "value:campaign:13"}},
		"created_on:|":                   {first: []string{`value:created_on:"now/d"`, "value:created_on:[now-7d TO now]"}},
		"tags.|":                         {first: []string{"field:tags.kinds.key:", "field:tags.marketer_tags.key:", "field:tags.hashtags.key:"}},
		"tags.marketer_tags.key:|":       {first: []string{"tag:tags.marketer_tags.key:summer", "tag:tags.marketer_tags.key:hero"}},
		"tags.marketer_tags:h|":          {first: []string{"tag:tags.marketer_tags:hero"}},
		"summ|":                          {first: []string{"tag:tags.marketer_tags.key:summer"}},
		"_exists_:te|":                   {first: []string{"field:_exists_:text"}},
		"text:beach|":                    {lacks: []string{"value", "field", "operator"}},
		"nofield:|":                      {lacks: []string{"value", "field"}},
		`\*name:|`:                       {lacks: []string{"value", "field"}},
		"campaign:>1|":                   {lacks: []string{"value"}},
		"campaign:[1 TO |":               {lacks: []string{"value", "field", "operator"}},
		"sta|":                           {first: []string{"field:approval_status:"}}, // another name for the field
		"plat|":                          {first: []string{"field:social_platform:"}},
		"dat|":                           {first: []string{"field:created_on:"}},
		"approval_status:appro|":         {first: []string{"enum:approval_status:app"}},
		"created_on:yest|":               {first: []string{"value:created_on:[now-1d/d TO now/d}"}},
		"subm|":                          {lacks: []string{"field"}},
		"submission.username:p|":         {lacks: []string{"value"}},
		"submission.username:person1|":   {token: "rw", first: []string{"value:submission.username:person12", "value:submission.username:person18"}},
		strings.Repeat("x ", 9000) + "a": {lacks: []string{"field"}},
	} {
		t.Run(q[:min(len(q), 40)], func(t *testing.T) {
			if c.token == "" {
				c.token = "ro"
			}
			var got struct {
				Completions []struct {
					Text       string
					Start, End int
					Kind       string
				}
			}
			if err := json.Unmarshal(a.do(call{url: suggestURL(q), token: c.token}).body, &got); err != nil {
				t.Fatal(err)
			}
			text := utf16.Encode([]rune(strings.Replace(q, "|", "", 1)))
			var become []string
			for _, s := range got.Completions {
				whole := slices.Concat(text[:s.Start], utf16.Encode([]rune(s.Text)), text[s.End:])
				become = append(become, s.Kind+":"+string(utf16.Decode(whole)))
				if slices.Contains(c.lacks, s.Kind) {
					t.Errorf("an unwanted completion: %s", become[len(become)-1])
				}
			}
			if len(become) > 20 || !slices.Equal(c.first, become[:min(len(become), len(c.first))]) {
				t.Errorf("it becomes %q, want first %q", become, c.first)
			}
		})
	}
}

func TestSuggest(t *testing.T) {
	newApp(t).table(t, map[string]call{
		"counts": {url: suggestURL("approval_status:a|"), token: "ro", contains: []string{
			`"completions":[{"text":"app","start":16,"end":17,"kind":"enum","detail":"Status is approved","count":30}],` +
				`"clauses":[{"start":0,"end":17,"occur":"must","field":"approval_status","values":["a"]}],` +
				`"_links":{"self":{"href":"/base/v2/content/suggest?position=17&q=approval_status%3Aa"}}}`,
		}},
		"an error": {url: suggestURL("😀 (beach"), token: "ro", contains: []string{
			`{"problems":[{"severity":"error","in":"q","start":9,"end":9,"message":"unbalanced parenthesis (opened at position 2) at position 8, at the end: expected \")\""}]`,
		}},
		"warnings": {url: suggestURL("a AND b OR bogus:1|"), token: "ro", contains: []string{
			`{"severity":"warning","in":"q","start":0,"end":18,"message":"AND and OR are mixed`, `{"severity":"warning","in":"q","start":11,"end":16,"message":"there is no field`,
		}, want: map[string]string{"Warning": ""}},
		"an order":         {url: suggestURL("a", "sort_by=id:down"), token: "ro", contains: []string{`{"severity":"error","in":"sort_by","start":3,"end":7,"message":"a bad sort direction at position 3`}},
		"a private field":  {url: suggestURL("submission.age:20|", "sort_by=submission.age:asc"), token: "ro", contains: []string{`"in":"q","start":0,"end":14,"message":"field \"submission.age\" requires a READ-WRITE token that allows ReadPrivate"`, `"in":"sort_by","start":0,"end":14`, `"completions":[]`}},
		"the same, rw":     {url: suggestURL("submission.age:20|"), token: "rw", contains: []string{`"problems":[]`, `"text":"20"`}},
		"a token":          {url: suggestURL("id:" + token("ro")), token: "ro", contains: []string{`"severity":"error"`}, lacks: []string{token("ro")[:16]}},
		"a token, words":   {url: suggestURL("a and " + token("ro") + " and b"), token: "ro", contains: []string{`"severity":"hint"`}, lacks: []string{token("ro")[:16]}},
		"nothing":          {url: "/v2/content/suggest", token: "ro", contains: []string{`"problems":[]`}},
		"only blanks":      {url: suggestURL("  |"), token: "ro", contains: []string{`"start":2,"end":2`}},
		"another property": {url: suggestURL("tags.marketer_tags:|"), token: "other-ro", contains: []string{`"completions":[]`}},
		"cached":           {url: suggestURL("a|"), token: "ro", want: map[string]string{"Cache-Control": "~public, max-age=60"}},
		"position":         {url: suggestURL("a", "position=2"), token: "ro", status: 400, contains: []string{`"parameter":"position"`, "from 0 to 1"}},
		"not UTF-8":        {url: "/v2/content/suggest?q=%ff", token: "ro", status: 400, contains: []string{`"parameter":"q"`}},
		"too long":         {url: suggestURL(strings.Repeat("x", 65<<10)), token: "ro", status: 400, contains: []string{`"parameter":"q"`}},
		"no token":         {url: suggestURL("a"), status: 403},
	})
}

// TestSuggestWithoutValues checks that a slow count of values does not delay the problems of a query. Other errors of the count must not be
// mistaken for slowness.
func TestSuggestWithoutValues(t *testing.T) {
	a, h := newHookedApp(t)
	h.facets = func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("count: %w", context.Cause(ctx))
	}
	a.do(call{
		url: suggestURL("x AND approval_status:|"), token: "ro", contains: []string{`"text":"app"`, `"severity":"error"`}, lacks: []string{`"count"`},
		want: map[string]string{"Cache-Control": "private, no-store"},
	})
	h.facets = func(ctx context.Context) error {
		<-ctx.Done()
		return library.ErrUnavailable
	}
	a.do(call{url: suggestURL("approval_status:|"), token: "ro", status: 503, contains: []string{"problems/unavailable"}})
}

// TestSuggestRareTags requests completions for tags that are not among the most frequent ones.
func TestSuggestRareTags(t *testing.T) {
	a := newApp(t)
	line := `{"id":%d,"approval_status":"app","created_on":"2026-01-01T00:00:00Z","content":{"content_type":"text","text":"x"},"tags":{%q:[%s]}}`
	lines := []string{fmt.Sprintf(line, 5200, "rare", `"zebra"`)}
	for i := range 110 { // two items have each of these tags
		lines = append(lines, fmt.Sprintf(line, 5000+i, "hashtags", fmt.Sprintf(`"f%d","f%d"`, i, (i+1)%110)))
	}
	a.write(shop, lines...)
	a.do(call{url: suggestURL("zeb|"), token: "ro", contains: []string{`"kind":"tag","detail":"items with the tag rare:zebra","count":1`}})
	a.do(call{url: suggestURL("tags.ra|"), token: "ro", contains: []string{`"text":"tags.rare.key:"`}})
	a.do(call{url: suggestURL("tags.rare.k|"), token: "ro", contains: []string{`"text":"tags.rare.key:"`}})
}

// TestListedValues compares the fixed values in the catalogue with the values that items can have.
func TestListedValues(t *testing.T) {
	for name, want := range map[string][]string{
		"approval_status": {item.Approved, item.Rejected, item.Pending}, "content.content_type": {item.Image, item.Video, item.Text},
		"content.media.mediatype": {item.Image, item.Video, item.Text},
	} {
		if f, _ := query.Lookup(name); !slices.Equal(query.Values(f), want) {
			t.Errorf("%s: %q, want %q", name, query.Values(f), want)
		}
	}
}
