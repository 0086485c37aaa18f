package query_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

func TestFieldsAndTerms(t *testing.T) {
	testParse(t, map[string]parseCase{
		"field":                     {query: "text:love", want: "text:love"},
		"space after colon":         {query: "text: love", want: "text:love"},
		"space before colon":        {query: "text :love", want: "text:love"},
		"field applies to one word": {query: "text:a b", want: "text:a b"},
		"field of brackets":         {query: "text:(a OR b)", want: "text:a text:b"},
		"field of inner field":      {query: "text:(a id:5 (b))", want: "text:a id:5 text:b"},
		"escaped characters":        {query: `\(a\)\ \+b\:\"`, want: `\(a\)\ +b\:\"`},
		"escaped letter":            {query: `l\ov\e`, want: "love"},
		"unicode escape":            {query: `\u006cove \u5c71`, want: "love 山"},
		"surrogate pair":            {query: `\ud83d\ude0d`, want: "😍"},
		"escaped operator":          {query: `\AND \|| N\OT`, want: `\AND \|| \NOT`},
		"escaped backslash":         {query: `a\\b`, want: `a\\b`},
		"escaped minus":             {query: `id:\-5`, want: `id:\-5`},
		"minus inside":              {query: "wi-fi a+b", want: "wi-fi a+b"},
		"comma without a field":     {query: "good,wine", want: "good,wine"},
		"comparison unfielded":      {query: ">5", want: ">5"},
		"escaped comparison":        {query: `id:\>5`, want: `id:\>5`},
		"ordinary characters":       {query: "#fb @a x=1 'n' $5 50%", want: "#fb @a x=1 'n' $5 50%"},
		"ideographic space":         {query: "海\u3000山", want: "海 山"},
		"operator as field":         {query: `\AND:x`, want: `\AND:x`},
		"spaced field name":         {query: `tags.my\ tags:x`, want: `tags.my\ tags:x`},
		"field pattern":             {query: `tags.\*:x`, want: `tags.\*:x`},
		"all fields":                {query: "*:x", want: `\*:x`},
		"quote inside a word":       {query: `a"b"c`, want: `a "b" c`},
		"date in quotes":            {query: `created_on:"2026-11-20T00:00:00Z"`, want: `created_on:"2026-11-20T00:00:00Z"`},
		"date with escapes":         {query: `created_on:2026-11-20T00\:00\:00Z`, want: `created_on:2026-11-20T00\:00\:00Z`},
	})
}

func TestFieldErrors(t *testing.T) {
	testFail(t, map[string]failCase{
		"no value":             {"text:", `no value for field "text" at position 5, at the end: expected a value`},
		"operator as value":    {"text:AND", `no value for field "text" at position 5, near "AND": expected a value`},
		"negative value":       {"id:-5", `no value for field "id" at position 3, near "-5": expected a value; to begin a value with -, write \- or put the value in quotes`},
		"unescaped pattern":    {"tags.*:x", `a field name with an unescaped wildcard at position 0, near "tags.*:x": expected a field name; in a pattern, write each * as \*`},
		"trailing backslash":   {`a\`, `no character after the backslash at position 1, near "\\": expected a character after it, or \\`},
		"short unicode escape": {`a\u12`, `bad \u escape at position 1, near "\\u12": expected four hexadecimal digits after it`},
		"half a pair":          {`\ud83dx`, `unpaired surrogate in a \u escape at position 0, near "\\ud83dx": expected both surrogates of the pair`},
	})
}

func TestPhrases(t *testing.T) {
	testParse(t, map[string]parseCase{
		"phrase":           {query: `"a b"`, want: `"a b"`},
		"escapes":          {query: `"say \"hi\" \\ \u0041"`, want: `"say \"hi\" \\ A"`},
		"specials":         {query: `"a (b) AND: *"`, want: `"a (b) AND: *"`},
		"slop":             {query: `"a b"~2`, want: `"a b"~2`},
		"spaced slop":      {query: `"a b" ~2`, want: `"a b"~2`},
		"slop without":     {query: `"a b"~`, want: `"a b"`},
		"slop cut":         {query: `"a b"~2.7`, want: `"a b"~2`},
		"huge slop":        {query: `"a b"~99999999999`, want: `"a b"~2147483647`},
		"slop and boost":   {query: `"a b"~2^3`, want: `"a b"~2^3`},
		"boost and slop":   {query: `"a b"^3~2`, want: `"a b"~2^3`},
		"fielded":          {query: `text:"a b"`, want: `text:"a b"`},
		"empty":            {query: `text:""`, want: `text:""`},
		"over lines":       {query: "\"a\nb\"", want: "\"a\nb\""},
		"brackets, phrase": {query: `text:("a b" OR c)`, want: `text:"a b" text:c`},
	})
	testFail(t, map[string]failCase{
		"unclosed": {`a "b c`, `unclosed quote (opened at position 2) at position 6, at the end: expected "\""`},
		"bad slop": {`"a b"~x`, `bad slop at position 5, near "~x": expected the number of moves allowed, such as ~2`},
	})
}

func TestBoosts(t *testing.T) {
	testParse(t, map[string]parseCase{
		"term":              {query: "a^2", want: "a^2"},
		"fraction":          {query: "a^0.5", want: "a^0.5"},
		"zero":              {query: "a^0", want: "a^0"},
		"long":              {query: "a^2.50", want: "a^2.5"},
		"then a word":       {query: "a^2b", want: "a^2 b"},
		"then a fraction":   {query: "a^2.5.5", want: "a^2.5 .5"},
		"brackets":          {query: "(a b)^2", want: "(a b)^2"},
		"one in brackets":   {query: "(a)^2", want: "a^2"},
		"twice":             {query: "((a^2)^3)", want: "(a^2)^3"},
		"field":             {query: "text:a^2", want: "text:a^2"},
		"prohibited":        {query: "-a^2", want: "-a^2"},
		"prohibited inside": {query: "(-a)^3", want: "(-a)^3"},
		"range":             {query: "id:[1 TO 2]^2", want: "id:[1 TO 2]^2"},
		"comparison":        {query: "id:>5^2", want: "id:{5 TO *]^2"},
		"exists":            {query: "_exists_:text^2", want: "_exists_:text^2"},
		"list":              {query: "id:(1,2)^2", want: "id:(1,2)^2"},
		"everything":        {query: "*:*^2", want: "*:*^2"},
	})
	testFail(t, map[string]failCase{
		"no digit first": {"a^.5", `no number after ^ at position 2, near ".5": expected a factor such as 2 or 0.5`},
		"negative":       {"a^-1", `no number after ^ at position 2, near "-1": expected a factor such as 2 or 0.5`},
		"nothing":        {"a^", `no number after ^ at position 2, at the end: expected a factor such as 2 or 0.5`},
		"spaced":         {"a^ 2", `no number after ^ at position 2, near " 2": expected a factor such as 2 or 0.5`},
		"twice":          {"a^5^2", `misplaced ^ at position 3, near "^2": expected a clause before it`},
		"too large":      {"a^1000000000000000000000000000000000000000", `the factor after ^ is too large at position 2, near "10000000000000000000": expected a smaller number`},
	})
}

func TestComparisonIgnoresPositions(t *testing.T) {
	parsed, err := query.Parse(`  text:love`)
	if err != nil {
		t.Fatal(err)
	}
	made := query.Term{Leaf: query.Leaf{Field: query.FieldName{Name: "text"}}, Text: "love"}
	if diff := cmp.Diff(query.Node(made), parsed.Root); diff != "" {
		t.Errorf("(-made +parsed):\n%s", diff)
	}
	if cmp.Equal(made, query.Term{Text: "love"}) {
		t.Error("trees with different fields are equal")
	}
}
