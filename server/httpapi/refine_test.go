package httpapi_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// refined is the response of the endpoint refine.
type refined struct {
	Query   string `json:"q"`
	Clauses []struct {
		Start, End   int
		Occur, Field string
		Values       []string
		From, To     string
	}
}

func TestRefine(t *testing.T) {
	a := newApp(t)
	for params, c := range map[string]struct {
		token   string
		q       string
		clauses string // field, values and role of each clause
	}{
		"field=approval_status&value=app":                              {q: "approval_status:app", clauses: "approval_status=app must"},
		"q=*:*&field=approval_status&value=app&value=pen":              {q: "approval_status:(app,pen)", clauses: "approval_status=app|pen must"},
		"q=😀 x&field=content.social_platform&value=instagram":          {q: "(😀 OR x) AND social_platform:instagram", clauses: "(😀 OR x) must; content.social_platform=instagram must"},
		"q=x&field=tags&value=a:b&value=c:d:e&not=1":                   {q: "x AND NOT (tags.a.key:b tags.c\\:d.key:e)", clauses: "x must; tags=a:b|c:d:e must not"},
		"q=x&field=created_on&from=2026-10-01&to=2026-10-07":           {q: "x AND created_on:[2026-10-01 TO 2026-10-07]", clauses: "x must; created_on=2026-10-01..2026-10-07 must"},
		"q=x&field=created_on&from=now-7d":                             {q: "x AND created_on:[now-7d TO *]", clauses: "x must; created_on=now-7d..* must"},
		"q=x AND campaign:1&clause=1":                                  {q: "x", clauses: "x must"},
		"q=campaign:1&clause=0":                                        {},
		"q=campaign:(1,2) x&clause=0&field=campaign&value=3":           {q: "campaign:3 x", clauses: "campaign=3 should; x should"},
		"field=author&value=a) OR (*:* AND \"b":                        {q: `author:"a) OR (*:* AND \"b"`, clauses: `content.author.username=a) OR (*:* AND "b must`},
		"q=submission.email:a&field=submission.email&value=b&clause=0": {token: "rw", q: "submission.email:b", clauses: "submission.email=b must"},
	} {
		t.Run(params, func(t *testing.T) {
			on := *a
			on.t = t
			if c.token == "" {
				c.token = "ro"
			}
			var got refined
			values, err := url.ParseQuery(params)
			if err != nil {
				t.Fatal(err)
			}
			body := on.do(call{url: "/v2/content/refine?" + values.Encode(), token: c.token})
			if err := json.Unmarshal(body.body, &got); err != nil {
				t.Fatal(err)
			}
			var clauses []string
			for _, g := range got.Clauses {
				text := strings.Join(g.Values, "|")
				if g.From != "" {
					text = g.From + ".." + g.To
				}
				if g.Field == "" {
					text = string(utf16.Decode(utf16.Encode([]rune(got.Query))[g.Start:g.End]))
				} else {
					text = g.Field + "=" + text
				}
				clauses = append(clauses, text+" "+g.Occur)
			}
			if diff := cmp.Diff([]string{c.q, c.clauses}, []string{got.Query, strings.Join(clauses, "; ")}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	bad := func(params, detail string) call {
		return call{url: "/v2/content/refine?" + params, token: "ro", status: 400, contains: []string{detail}}
	}
	a.table(t, map[string]call{
		"no change":       bad("q=x", `"field"`),
		"no value":        bad("field=id", "must be sent with field"),
		"value and range": bad("field=id&value=1&from=2", "unless from or to is sent"),
		"unknown field":   bad("field=nosuch&value=1", "must be the name of a field"),
		"bad value":       bad("field=campaign&value=x", "a whole number"),
		"bad bound":       bad("field=created_on&from=soon", "bad date"),
		"bad query":       bad("q=(x&field=id&value=1", "unbalanced parenthesis"),
		"bad clause":      bad("q=x&clause=1", "no clause 1"),
		"not a tag":       bad("field=tags&value=x", "namespace:key"),
		"a private field": {url: "/v2/content/refine?field=submission.email&value=x", token: "ro", status: 403, contains: []string{"submission.email"}},
		"a private query": {url: "/v2/content/refine?q=submission.email:x&clause=0", token: "ro", status: 403, contains: []string{"submission.email"}},
	})
}
