package query_test

import (
	"testing"

	"github.com/vitrine-dev/vitrine/server/query"
)

func TestGroups(t *testing.T) {
	mixed := []string{"mixed-operators"}
	testParse(t, map[string]parseCase{
		"word":                    {query: "love", want: "love"},
		"words":                   {query: "love great", want: "love great"},
		"and":                     {query: "a AND b", want: "+a +b"},
		"and as sign":             {query: "a && b", want: "+a +b"},
		"or":                      {query: "a OR b", want: "a b"},
		"or as sign":              {query: "a || b", want: "a b"},
		"and of three":            {query: "a AND b AND c", want: "+a +b +c"},
		"or then and":             {query: "a OR b AND c", want: "a +b +c", warns: mixed},
		"and then or":             {query: "a AND b OR c", want: "+a +b c", warns: mixed},
		"no precedence":           {query: "A AND B OR C AND D", want: "+A +B +C +D", warns: mixed},
		"space then and":          {query: "a b AND c", want: "a +b +c"},
		"or not":                  {query: "a OR NOT b", want: "a -b"},
		"or minus":                {query: "a OR -b", want: "a -b"},
		"not and":                 {query: "NOT a AND b", want: "-a +b"},
		"and not":                 {query: "a AND NOT b", want: "+a -b"},
		"exclamation":             {query: "a !b", want: "a -b"},
		"not alone":               {query: "NOT a", want: "-a"},
		"plus and minus":          {query: "+a -b c", want: "+a -b c"},
		"plus then or":            {query: "+a OR b", want: "+a b"},
		"and plus":                {query: "a AND +b", want: "+a +b"},
		"brackets":                {query: "a AND (b OR c)", want: "+a +(b c)"},
		"needless brackets":       {query: "((a))", want: "a"},
		"bracketed sign":          {query: "(+a)", want: "+a"},
		"nested prohibition":      {query: "a (-b)", want: "a (-b)"},
		"bracket without space":   {query: "a(b)c", want: "a b c"},
		"mixed in brackets":       {query: "x (a AND b OR c)", want: "x (+a +b c)", warns: mixed},
		"mixed across brackets":   {query: "a AND (b OR c)", want: "+a +(b c)"},
		"lower-case operators":    {query: "a and b or not c", want: "a and b or not c"},
		"wordless before and":     {query: "a OR ... AND b", want: "+a ... +b", warns: mixed},
		"wordless brackets":       {query: `a ("..." !x) AND b`, want: `a +("..." -x) +b`},
		"all wordless brackets":   {query: `a ("..." "-") AND b`, want: `+a ("..." "-") +b`},
		"wordless keyword":        {query: "a OR id:... AND b", want: "a +id:... +b", warns: mixed},
		"operators in one word":   {query: "a&&b c||d", want: "a&&b c||d"},
		"signs before white":      {query: "a - b + c ! d", want: `a \- b \+ c \! d`},
		"sign before ideographic": {query: "-\u3000a", want: `\- a`},
		"everything":              {query: "*:*", want: "*:*"},
		"everything, escaped":     {query: `\*:*`, want: "*:*"},
		"everything but":          {query: "*:* -a", want: "*:* -a"},
	})
}

func TestGroupErrors(t *testing.T) {
	testFail(t, map[string]failCase{
		"open bracket after and": {"approval_status:app AND (summer OR beach", `unbalanced parenthesis (opened at position 24) at position 40, at the end: expected ")"`},
		"closed too often":       {"love)", `unbalanced parenthesis at position 4, near ")": expected "(" before it`},
		"nothing in brackets":    {"love ()", `nothing between parentheses at position 6, near ")": expected a clause`},
		"and at the end":         {"a AND", `nothing after AND at position 5, at the end: expected a clause`},
		"or before bracket":      {"(a OR)", `nothing after OR at position 5, near ")": expected a clause`},
		"and first":              {"AND a", `misplaced AND at position 0, near "AND a": expected a clause before it`},
		"two operators":          {"a AND OR b", `nothing after AND at position 6, near "OR b": expected a clause`},
		"two signs":              {"NOT NOT a", `NOT after NOT at position 4, near "NOT a": expected a clause`},
		"plus minus":             {"+-a", `- after + at position 1, near "-a": expected a clause`},
		"sign at the end":        {"a -", `nothing after - at position 3, at the end: expected a clause`},
		"colon alone":            {":", `misplaced colon at position 0, near ":": expected one field name before it; in a value, write a colon as \: or put the value in quotes`},
		"two colons":             {"a:b:c", `misplaced colon at position 3, near ":c": expected one field name before it; in a value, write a colon as \: or put the value in quotes`},
		"closing range":          {"a ]", `unbalanced range bracket at position 2, near "]": expected "[" or "{" before it`},
		"tilde alone":            {"~1", `misplaced ~ at position 0, near "~1": expected a clause before it`},
		"slop on brackets":       {"(a b)~2", `misplaced ~ at position 5, near "~2": expected a clause before it`},
	})
}

func TestWarningsAreOneLine(t *testing.T) {
	q, err := query.Parse("a AND \"b\nc\" OR d\x00")
	if err != nil {
		t.Fatal(err)
	}
	want := `AND and OR are mixed without parentheses, and neither takes precedence: the query is read as +a +"b c" d ; use parentheses to group clauses`
	if len(q.Warnings) != 1 || q.Warnings[0].Message != want {
		t.Errorf("got %+v\nwant %s", q.Warnings, want)
	}
}

func TestWarningsHavePlaces(t *testing.T) {
	for q, want := range map[string]string{
		"a AND b OR c":                     "a AND b OR c",
		" x (a AND b OR c^2 ) ":            "a AND b OR c^2",
		"ü bogus:1":                        "bogus",
		"text:bogus OR bogus:1 OR bogus:2": "bogus",
		`x bo\.gus :1`:                     `bo\.gus`,
		"_exists_:(bogus)":                 "bogus",
		`bo\*s:1`:                          `bo\*s`,
		"author:*mar text:x":               "*mar",
	} {
		parsed, err := query.ParseFor(q, query.Private)
		if err != nil || len(parsed.Warnings) != 1 {
			t.Fatalf("%s: %+v, %v", q, parsed.Warnings, err)
		}
		w := parsed.Warnings[0]
		if got := string([]rune(q)[w.Start:w.End]); got != want {
			t.Errorf("%s: the warning is about %q at %d, want %q", q, got, w.Start, want)
		}
	}
	parsed, err := query.ParseFor("text:bogus OR bogus:1", query.Private)
	if err != nil || parsed.Warnings[0].Start != 14 {
		t.Errorf("the field is at %+v, %v", parsed.Warnings, err)
	}
}
