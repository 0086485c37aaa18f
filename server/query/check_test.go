package query_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

func TestCheckWarnsOfUnknownFields(t *testing.T) {
	cases := map[string]struct {
		query string
		want  []string // messages
	}{
		"known":            {query: "approval_status:app text:x author.username:y tags.vibe.key:z tags.vibe:z _all:x"},
		"typing mistake":   {query: "aproval_status:app", want: []string{`there is no field "aproval_status", so its clause finds nothing; did you mean "approval_status"?`}},
		"member alone":     {query: "username:x", want: []string{`there is no field "username", so its clause finds nothing; did you mean "author"?`}},
		"another name":     {query: "status:x", want: []string{`there is no field "status", so its clause finds nothing; did you mean "approval_status"?`}},
		"tags":             {query: "tags:x", want: []string{`"tags" is an object and not a field, so its clause finds nothing; use one of its members, such as "tags.marketer_tags.key"`}},
		"hashtag":          {query: "hashtag:x", want: []string{`"hashtag" is an object and not a field, so its clause finds nothing; use one of its members, such as "hashtag.hashtag_text"`}},
		"nothing near":     {query: "colour:x", want: []string{`there is no field "colour", so its clause finds nothing`}},
		"once":             {query: "colour:x OR colour:y", want: []string{`there is no field "colour", so its clause finds nothing`}},
		"object":           {query: "content.media:x", want: []string{`"content.media" is an object and not a field, so its clause finds nothing; use one of its members, such as "content.media.id"`}},
		"object exists":    {query: "_exists_:content.media _missing_:tags _exists_:author _exists_:activate_units hashtag:*"},
		"unknown exists":   {query: "_exists_:colour", want: []string{`there is no field "colour", so its clause finds nothing`}},
		"pattern":          {query: `tags.\*:x content.author.\*username:y media.\*image:z`},
		"pattern, nothing": {query: `colour\*:x`, want: []string{`no field matches the pattern "colour*", so its clause finds nothing`}},
		"bad value of one": {query: "colour:[1 TO x]^2 AND campain:5", want: []string{
			`there is no field "colour", so its clause finds nothing`,
			`there is no field "campain", so its clause finds nothing; did you mean "campaign"?`,
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			warnings, err := query.Check(parse(t, c.query), query.Public)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range warnings {
				if w.Code != query.WarnUnknownField {
					t.Errorf("code %s", w.Code)
				}
				got = append(got, w.Message)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckJudgesTypes(t *testing.T) {
	cases := map[string]struct{ query, want string }{
		"number":           {"love AND campaign:abc", `bad number for field "campaign" at position 18, near "abc": expected a whole number`},
		"large number":     {"campaign:99999999999999999999", `bad number for field "campaign" (out of range) at position 9, near "99999999999999999999": expected a whole number`},
		"empty number":     {`campaign:""`, `bad number for field "campaign" at position 9, near "\"\"": expected a whole number`},
		"boolean":          {"featured:yes", `bad boolean for field "featured" at position 9, near "yes": expected true or false`},
		"boolean, capital": {"featured:TRUE", `bad boolean for field "featured" at position 9, near "TRUE": expected true or false`},
		"date":             {"created_on:yesterday", `bad date for field "created_on" at position 11, near "yesterday": expected a date such as 2026-11-20, 2026-11 or "2026-11-20T10:00:00Z", or date math such as now-30d`},
		"date math":        {"created_on:[now-30 TO *]", `bad date for field "created_on" (date math ends without a unit (y M w d h H m s)) at position 12, near "now-30 TO *]": expected a date such as 2026-11-20, 2026-11 or "2026-11-20T10:00:00Z", or date math such as now-30d`},
		"upper bound":      {"campaign:[1 TO x]", `bad number for field "campaign" at position 15, near "x]": expected a whole number`},
		"double":           {"content.platform_data.geo_data.coordinates.latitude:north", `bad number for field "content.platform_data.geo_data.coordinates.latitude" at position 52, near "north": expected a number`},
		"fuzzy number":     {"campaign:5~1", `a fuzzy term on the number field "campaign" at position 9, near "5~1": expected a value, a range, or * for any value`},
		"prefix of a date": {"created_on:2024*", `a wildcard on the date field "created_on" at position 11, near "2024*": expected a value, a range, or * for any value`},
		"regexp, boolean":  {"featured:/t.*/", `a regular expression on the boolean field "featured" at position 9, near "/t.*/": expected a value, a range, or * for any value`},
		"within a list":    {"campaign:(1,2,x)", `bad number for field "campaign" at position 14, near "x)": expected a whole number`},
		"one of a pattern": {`content.author.\*:joe`, `bad number for field "content.author.id" at position 18, near "joe": expected a whole number`},
		"without a source": {"", `bad number for field "id" at position 0, near "abc": expected a whole number`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := query.FieldTerm("id", "abc")
			if c.query != "" {
				n = parse(t, c.query)
			}
			_, err := query.Check(n, query.Public)
			var syntax *query.SyntaxError
			if !errors.As(err, &syntax) || syntax.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
	for _, q := range []string{"campaign:*", "campaign:5.5", `campaign:\-5`, "featured:[false TO true]", `created_on:"now/d"`, "campaign:abc5 OR x"} {
		_, err := query.Check(parse(t, strings.Replace(q, "abc5", "5", 1)), query.Public)
		if err != nil {
			t.Errorf("%s: %v", q, err)
		}
	}
}

func TestCheckKeepsPrivateFieldsFromThePublic(t *testing.T) {
	for _, q := range []string{"submission.email:x", "_exists_:submission", "a (-_missing_:submission.x)", "submission:x", "submission.a:[a TO b]", `submission.\*:x`, `_exists_:submission\*`, "x AND submission.email:(a,b)^2"} {
		_, err := query.Check(parse(t, q), query.Public)
		var forbidden *query.ForbiddenFieldError
		if !errors.As(err, &forbidden) || !strings.HasPrefix(forbidden.Field, "submission") {
			t.Errorf("%s, public: %v, want a *ForbiddenFieldError", q, err)
		}
		if _, err := query.Check(parse(t, q), query.Private); err != nil {
			t.Errorf("%s, private: %v", q, err)
		}
	}
	for _, q := range []string{`s\*:[a TO b]`, `_exists_:\*`, "submissions:x"} {
		if _, err := query.Check(parse(t, q), query.Public); err != nil {
			t.Errorf("%s, public: %v", q, err)
		}
	}
}

func TestCheckLimitsClausesOfComposedTrees(t *testing.T) {
	values := make([]query.Node, query.MaxClauses+1)
	for i := range values {
		values[i] = query.FieldTerm("id", "1")
	}
	_, err := query.Check(query.And(values...), query.Public)
	var syntax *query.SyntaxError
	if !errors.As(err, &syntax) || !syntax.Limit {
		t.Errorf("%v, want a limit", err)
	}
	if _, err := query.Check(query.And(values[1:]...), query.Public); err != nil {
		t.Error(err)
	}
}

// TestCheckCountsExpandedClauses checks that Check counts clauses after expansion. Otherwise, the server would accept filters whose
// listings then always fail.
func TestCheckCountsExpandedClauses(t *testing.T) {
	for name, q := range map[string]string{
		"words":         "text:" + strings.Repeat("a-", query.MaxClauses),
		"phrase":        `"` + strings.Repeat("the ", query.MaxClauses) + `"`,
		"presence":      strings.Repeat(`_exists_:\* `, 40),
		"field pattern": strings.Repeat(`\*url:x `, 300),
		"object":        strings.Repeat("_exists_:author.profile ", 300),
		"object, star":  strings.Repeat("author.profile:* ", 300),
	} {
		t.Run(name, func(t *testing.T) {
			tooMuch := q + " _exists_:id a"
			_, err := query.Check(parse(t, tooMuch), query.Public)
			var syntax *query.SyntaxError
			if !errors.As(err, &syntax) || !syntax.Limit {
				t.Errorf("%v, want a limit", err)
			}
		})
	}
	for name, q := range map[string]string{
		"words":               "text:" + strings.Repeat("a-", query.MaxClauses),
		"on keywords":         `author:"` + strings.Repeat("the ", 3*query.MaxClauses) + `"`,
		"texts without words": strings.Repeat("... ", query.MaxClauses),
	} {
		if _, err := query.Check(parse(t, q), query.Public); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckWarnsTwentyTimesAtMost(t *testing.T) {
	var q strings.Builder
	for i := range 30 {
		fmt.Fprintf(&q, "colour%d:x ", i)
	}
	warnings, err := query.Check(parse(t, q.String()), query.Public)
	if err != nil || len(warnings) != 20 {
		t.Errorf("%d warnings, error %v", len(warnings), err)
	}
}
