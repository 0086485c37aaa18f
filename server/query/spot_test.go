package query_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vitrine-dev/vitrine/server/query"
)

// TestSpotAt checks the spot at the position that | marks in each query. It compares spots as texts, which consist of the text to replace,
// its typed part, and the other members that are set.
func TestSpotAt(t *testing.T) {
	for q, want := range map[string]string{
		"|":                           `"" ""`,
		"  | a":                       `"" ""`,
		"te|":                         `"te" "te"`,
		"te|xt":                       `"text" "te"`,
		"te|xt:a":                     `"text" "te" named`,
		"te|xt :a":                    `"text" "te" named`,
		"|text":                       `"" ""`,
		"a |":                         `"" "" follows`,
		"a A|":                        `"A" "A" follows after "a "`,
		"id:1 last 30 d|ays":          `"days" "d" follows after "last 30 "+ after "30 "+`,
		"a AND oct 20|":               `"20" "20" follows after "oct "`,
		`a "b" oct 20|`:               `"20" "20" follows after "oct "+`,
		"a* (b) oct te|":              `"te" "te" follows after "oct "+`,
		"oct (20|":                    `"20" "20"`,
		"text:(a b|":                  `"b" "b" of text follows`,
		"oct te|xt:a":                 `"text" "te" named`,
		"a AND|":                      `"AND" "AND" follows after "a "`,
		"a AND |":                     `"" ""`,
		"a AND te|":                   `"te" "te"`,
		"NOT |":                       `"" ""`,
		"NOT|":                        `"NOT" "NOT"`,
		"-te|":                        `"te" "te"`,
		"+|":                          `"" ""`,
		"(|":                          `"" ""`,
		"(a |":                        `"" "" follows`,
		"(a) |":                       `"" "" follows`,
		")) te|":                      `"te" "te" follows`,
		"approval_status:|":           `"" "" of approval_status`,
		"approval_status: |":          `"" "" of approval_status`,
		"approval_status:a|p AND b":   `"ap" "a" of approval_status`,
		"approval_status:app |":       `"" "" follows`,
		"approval_status:app,|":       `"" "" of approval_status`,
		"approval_status:app,re|":     `"re" "re" of approval_status`,
		"approval_status:app re|":     `"re" "re" follows`,
		"approval_status:(|":          `"" "" of approval_status`,
		"approval_status:(app |":      `"" "" of approval_status follows`,
		"approval_status:(app OR re|": `"re" "re" of approval_status`,
		"approval_status:(app, r|":    `"r" "r" of approval_status`,
		"approval_status:(app) te|":   `"te" "te" follows`,
		"approval_status:(id:|":       `"" "" of id`,
		"approval_status:(id:1 |":     `"" "" of approval_status follows`,
		`author:"jo|`:                 `"\"jo" "jo" of author quoted`,
		`author:"jo| AND x`:           `"\"jo" "jo" of author quoted`,
		`author:"jo|e smith" AND x`:   `"\"joe smith\"" "jo" of author quoted`,
		`author:"jo\"|`:               `"\"jo\\\"" "jo\"" of author quoted`,
		`author:"|`:                   `"\"" "" of author quoted`,
		`tags.my\ ns.k|`:              `"tags.my\\ ns.k" "tags.my ns.k"`,
		`tags.my\ ns.key:a|`:          `"a" "a" of tags.my ns.key`,
		`\u0061b|`:                    `"\\u0061b" "ab"`,
		"_exists_:te|":                `"te" "te" of _exists_`,
		"ü AND été:|":                 `"" "" of été`,
		"text:a^2 |":                  `"" "" follows`,
		"text:a~1 |":                  `"" "" follows`,
		"text:[1 TO 2] |":             `"" "" follows`,
		"text:/a|b/":                  "none",
		"text:/a b/ |":                `"" "" follows`,
		`author:"jo"|`:                "none",
		"text:a^2|":                   "none",
		"text:a~1|":                   "none",
		"text:[1 TO |":                "none",
		"text:[1 TO |2]":              "none",
		"text:a*|":                    "none",
		`te\|`:                        "none",
		`\u00|61`:                     "none",
		"text | :a":                   "none",
	} {
		t.Run(q, func(t *testing.T) {
			before, after, _ := strings.Cut(q, "|")
			text := before + after
			got := "none"
			if s, ok := query.SpotAt(text, utf8.RuneCountInString(before)); ok {
				got = fmt.Sprintf("%q %q", string([]rune(text)[s.Start:s.End]), s.Typed)
				if s.Field.Name != "" {
					got += " of " + s.Field.Name
				}
				for name, set := range map[string]bool{" named": s.Named, " follows": s.Follows, " quoted": s.Quoted} {
					if set {
						got += name
					}
				}
				for _, w := range s.Words[:max(0, len(s.Words)-1)] {
					got += fmt.Sprintf(" after %q", string([]rune(text)[w.Start:s.Start]))
					if w.Follows {
						got += "+"
					}
				}
			}
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func FuzzSpotAt(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, q string) {
		length := utf8.RuneCountInString(q)
		for at := range min(length, 100) + 1 {
			s, ok := query.SpotAt(q, at)
			if ok && (s.Start < 0 || s.Start > at || s.End < at || s.End > length) {
				t.Fatalf("%q at %d: %+v", q, at, s)
			}
		}
	})
}

// TestWrittenTexts checks that the text that a completion inserts for a value parses to that value.
func TestWrittenTexts(t *testing.T) {
	for _, value := range []string{"app", "a b", "", "-x", `a"b\c`, "a,b", ">5", "AND", "日本", "x:y", "*"} {
		for _, text := range []string{query.WordText(value), query.QuotedText(value)} {
			got := ""
			switch n := parse(t, "author:"+text).(type) {
			case query.Term:
				got = n.Text
			case query.Phrase:
				got = n.Text
			}
			if got != value {
				t.Errorf("%q is written %s, which has the value %q", value, text, got)
			}
		}
	}
	if got := parse(t, query.NameText("tags.my ns.key")+":a").(query.Term).Field.Name; got != "tags.my ns.key" {
		t.Errorf("the name is %q", got)
	}
}

func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		problems []query.Problem
		text     string
		want     []string
	}{
		"none":       {query.Problems("a AND b", query.Public), "a AND b", nil},
		"blank":      {query.Problems(" ", query.Public), " ", nil},
		"syntax":     {query.Problems("ü AND ) x", query.Public), "ü AND ) x", []string{`error ")": nothing after AND at position 6, near ") x": expected a clause`}},
		"at the end": {query.Problems("(a", query.Public), "(a", []string{`error "": unbalanced parenthesis (opened at position 0) at position 2, at the end: expected ")"`}},
		"value":      {query.Problems("a id:xyz b", query.Public), "a id:xyz b", []string{`error "xyz": `}},
		"private":    {query.Problems("a submission.age:1", query.Public), "a submission.age:1", []string{`error "submission.age": field "submission.age" requires a READ-WRITE token that allows ReadPrivate`}},
		"own":        {query.Problems("a submission.age:1", query.Private), "a submission.age:1", nil},
		"warnings":   {query.Problems("a AND b OR bogus:1", query.Public), "a AND b OR bogus:1", []string{`warning "a AND b OR bogus:1": AND and OR are mixed`, `warning "bogus": there is no field "bogus"`}},
		"operators": {query.Problems("not a and (b oR c) and", query.Public), "not a and (b oR c) and", []string{
			`hint "not": operators are in upper case: "not" is read as a word; write NOT to exclude the next clause`,
			`hint "and": operators are in upper case: "and" is read as a word; write AND to require both clauses`,
			`hint "oR": operators are in upper case: "oR" is read as a word; write OR to accept either clause`,
		}},
		"words": {query.Problems(`and OR \and "or" text:or text:(x and y)`, query.Public), "", []string{}},
		"no value": {query.Problems("approval_status:(app,aproved) media.mediatype:x", query.Public), "approval_status:(app,aproved) media.mediatype:x", []string{
			`hint "aproved": no item has the value "aproved": the values of "approval_status" are app, rej, pen; did you mean "app"?`,
			`hint "x": no item has the value "x": the values of "media.mediatype" are image, video, text`,
		}},
		"too long":      {query.Problems(strings.Repeat("x", 17000), query.Public), strings.Repeat("x", 17000), []string{`error "xxx`}},
		"order":         {query.OrderProblems("id:asc,campaign:down", query.Public), "id:asc,campaign:down", []string{`error "down": a bad sort direction at position 16, near "down": expected asc or desc`}},
		"good order":    {query.OrderProblems("id:asc", query.Public), "id:asc", nil},
		"blank order":   {query.OrderProblems(" ", query.Public), " ", nil},
		"private order": {query.OrderProblems("id:asc, submission.age:asc", query.Public), "id:asc, submission.age:asc", []string{`error "submission.age": field "submission.age" requires`}},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.problems) != len(c.want) {
				t.Fatalf("got %+v, want %q", c.problems, c.want)
			}
			for i, p := range c.problems {
				if got := fmt.Sprintf("%s %q: %s", p.Severity, string([]rune(c.text)[p.Start:p.End]), p.Message); !strings.HasPrefix(got, c.want[i]) {
					t.Errorf("got %s, want %s", got, c.want[i])
				}
			}
		})
	}
}
