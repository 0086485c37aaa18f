package query_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

func TestWildcards(t *testing.T) {
	leading := []string{"leading-wildcard"}
	testParse(t, map[string]parseCase{
		"prefix":              {query: "lov*", want: "lov*"},
		"inside":              {query: "l?v*e", want: "l?v*e"},
		"leading":             {query: "*ove ?x *ove", want: "*ove ?x *ove", warns: []string{"leading-wildcard", "leading-wildcard"}},
		"star alone":          {query: "*", want: "*"},
		"star of a field":     {query: "text:*", want: "text:*"},
		"two stars":           {query: "text:**", want: "text:**", warns: leading},
		"escaped star":        {query: `a\**`, want: `a\**`},
		"escaped first":       {query: `\*a*`, want: `\*a*`},
		"escaped backslash":   {query: `a\\?`, want: `a\\?`},
		"other escapes go":    {query: `\u006co\v?`, want: "lov?"},
		"specials stay":       {query: `https\:\/\/x?`, want: `https\:\/\/x?`},
		"operator prefix":     {query: "AND*", want: "AND*"},
		"nearness is ignored": {query: "lov*~1 x", want: "lov* x"},
		"boost":               {query: "lov*^2", want: "lov*^2"},
		"escaped comma":       {query: `id:a\,b*`, want: `id:a\,b*`},
		"escaped sign":        {query: `text:\-a*`, want: `text:\-a*`},
	})
}

func TestRegexps(t *testing.T) {
	testParse(t, map[string]parseCase{
		"pattern":        {query: "/lov[ei]/", want: "/lov[ei]/"},
		"field":          {query: "text:/a.b/", want: "text:/a.b/"},
		"escaped slash":  {query: `/a\/b/ c`, want: `/a\/b/ c`},
		"double escape":  {query: `/a\\/ b`, want: `/a\\/ b`},
		"spaces":         {query: "/a b (c)/", want: "/a b (c)/"},
		"inside a word":  {query: "a/b/c", want: "a /b/ c"},
		"boost":          {query: "/a/^2", want: "/a/^2"},
		"empty":          {query: "//", want: "//"},
		"a URL, as read": {query: "http://example.com", want: "http:// example.com"},
	})
	testFail(t, map[string]failCase{
		"unclosed":         {"/love", `unclosed regular expression (opened at position 0) at position 5, at the end: expected "/"`},
		"escaped end":      {`/x\/`, `unclosed regular expression (opened at position 0) at position 4, at the end: expected "/"`},
		"date with a math": {"created_on:now/d", `unclosed regular expression (opened at position 14) at position 16, at the end: expected "/"`},
	})
}

func TestRegexpEscapesSlashes(t *testing.T) {
	n := query.Regexp{Pattern: `a/b\/c\\/d`}
	if got, want := n.String(), `/a\/b\/c\\\/d/`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFuzzy(t *testing.T) {
	testParse(t, map[string]parseCase{
		"auto":              {query: "love~", want: "love~"},
		"auto by name":      {query: "love~AUTO", want: "love~"},
		"edits":             {query: "a~0 b~1 c~2", want: "a~0 b~1 c~2"},
		"more than two":     {query: "love~7", want: "love~2"},
		"fraction":          {query: "love~0.8 love~1.5 love~.5 love~1.", want: "love~0 love~1 love~0 love~1"},
		"with a boost":      {query: "love~1^2", want: "love~1^2"},
		"boost before":      {query: "love^2~1", want: "love~1^2"},
		"after white space": {query: "love ~1", want: "love~1"},
		"escaped":           {query: `wi\~fi~1`, want: `wi\~fi~1`},
		"field":             {query: "text:love~", want: "text:love~"},
		"a lone sign":       {query: "- ~1", want: `\-~1`},
	})
	testFail(t, map[string]failCase{
		"letters": {"love~x", `bad edit distance at position 4, near "~x": expected ~, ~0, ~1 or ~2`},
		"both":    {"love~1x", `bad edit distance at position 4, near "~1x": expected ~, ~0, ~1 or ~2`},
	})
}

func TestEditsFor(t *testing.T) {
	for text, want := range map[string]int{"a": 0, "ab": 0, "abc": 1, "海海海海海": 1, "abcdef": 2} {
		if got := query.EditsFor(text); got != want {
			t.Errorf("EditsFor(%q) is %d, want %d", text, got, want)
		}
	}
}

func TestPatternAutomata(t *testing.T) {
	cases := map[string]struct {
		query    string
		yes, no  []string
		position int // the position of the error, or -1 if there must be none
		limit    bool
	}{
		"prefix":             {query: "LOV*", yes: []string{"lov", "lovely"}, no: []string{"lo", "glove"}, position: -1},
		"empty prefix":       {query: "text:**", yes: []string{"", "x"}, position: -1},
		"wildcard":           {query: "L?v*e", yes: []string{"love", "live", "lovable"}, no: []string{"lve"}, position: -1},
		"escaped":            {query: `a\**`, yes: []string{"a*", "a*b"}, no: []string{"ab"}, position: -1},
		"escaped and folded": {query: `A\\B?`, yes: []string{`a\bc`}, no: []string{"abc"}, position: -1},
		"regexp":             {query: "/LOV[EI]+/", yes: []string{"love", "lovie"}, no: []string{"lov", "xlove"}, position: -1},
		"bad regexp":         {query: "x AND /a(b/", position: 8},
		"too complex":        {query: "/(a|b)*a(a|b){20}/", position: 0, limit: true},
		"repetitions":        {query: "x AND /" + strings.Repeat("a?", 101) + "/", position: 6, limit: true},
		"asterisks":          {query: "x AND " + strings.Repeat("a*", 101), position: 6, limit: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			q, err := query.Parse(c.query)
			if err != nil {
				t.Fatal(err)
			}
			_, err = query.Check(q.Root, query.Public)
			if c.position >= 0 {
				var syntax *query.SyntaxError
				if !errors.As(err, &syntax) || syntax.Position != c.position || syntax.Limit != c.limit {
					t.Fatalf("Check: %v, want a *SyntaxError at %d, limit %v", err, c.position, c.limit)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			a, err := new(query.Patterns).Compile(q.Root)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range c.yes {
				if !automaton.Match(a, s) {
					t.Errorf("%s refuses %q", c.query, s)
				}
			}
			for _, s := range c.no {
				if automaton.Match(a, s) {
					t.Errorf("%s accepts %q", c.query, s)
				}
			}
		})
	}
}

func TestTotalPatternLimit(t *testing.T) {
	var one strings.Builder // 13 different patterns of at least 8,192 states each
	for i := range 13 {
		fmt.Fprintf(&one, "/%c(a|b)*a(a|b){12}/ ", 'c'+rune(i))
	}
	q, err := query.Parse(one.String())
	if err != nil {
		t.Fatal(err)
	}
	_, err = query.Check(q.Root, query.Public)
	var syntax *query.SyntaxError
	if !errors.As(err, &syntax) || !syntax.Limit {
		t.Errorf("13 large patterns: %v, want a limit", err)
	}
	var small strings.Builder // 40 patterns that have few states, but take many steps to compile
	for i := range 40 {
		fmt.Fprintf(&small, "/(.?){200}a%d/ ", i)
	}
	if q, err = query.Parse(small.String()); err != nil {
		t.Fatal(err)
	}
	if _, err = query.Check(q.Root, query.Public); !errors.As(err, &syntax) || !syntax.Limit {
		t.Errorf("40 patterns that take long: %v, want a limit", err)
	}
	same, err := query.Parse(strings.Repeat("/c(a|b)*a(a|b){12}/ ", 800))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = query.Check(same.Root, query.Public); err != nil {
		t.Errorf("one large pattern 800 times: %v", err)
	}
}
