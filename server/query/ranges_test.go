package query_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

func TestRanges(t *testing.T) {
	testParse(t, map[string]parseCase{
		"inclusive":         {query: "id:[1 TO 5]", want: "id:[1 TO 5]"},
		"exclusive":         {query: "id:{1 TO 5}", want: "id:{1 TO 5}"},
		"mixed":             {query: "id:[1 TO 5} id:{1 TO 5]", want: "id:[1 TO 5} id:{1 TO 5]"},
		"open":              {query: "id:[* TO *]", want: "id:[* TO *]"},
		"open, exclusive":   {query: "id:{* TO 5]", want: "id:{* TO 5]"},
		"open, quoted":      {query: `id:["*" TO 5]`, want: "id:[* TO 5]"},
		"open, escaped":     {query: `id:[\* TO 5]`, want: "id:[* TO 5]"},
		"spaces":            {query: "id:[ 1\tTO\n5 ]", want: "id:[1 TO 5]"},
		"no field":          {query: "[a TO b]", want: "[a TO b]"},
		"specials":          {query: "created_on:[2024-01-01T00:00:00Z TO 2024||-1M/d]", want: "created_on:[2024-01-01T00:00:00Z TO 2024||-1M/d]"},
		"negative":          {query: `id:[-5 TO \-1]`, want: "id:[-5 TO -1]"},
		"quoted":            {query: `text:["a b" TO "c]"]`, want: `text:["a b" TO "c]"]`},
		"escaped quote":     {query: `text:["a \"b\" \\" TO c\\d]`, want: `text:["a \"b\" \\" TO c\\d]`},
		"TO as a bound":     {query: "text:[TO TO TO]", want: `text:["TO" TO "TO"]`},
		"brackets within":   {query: "text:[a[ TO {b]", want: "text:[a[ TO {b]"},
		"comma within":      {query: "text:[a,b TO c]", want: "text:[a,b TO c]"},
		"greater":           {query: "id:>5", want: "id:{5 TO *]"},
		"greater or equal":  {query: "id:>=5", want: "id:[5 TO *]"},
		"less":              {query: "id:<5", want: "id:[* TO 5}"},
		"less or equal":     {query: "id:<=5", want: "id:[* TO 5]"},
		"negative, greater": {query: "id:>-5", want: "id:{-5 TO *]"},
		"date, less":        {query: "created_on:<now-2y", want: "created_on:[* TO now-2y}"},
		"quoted, less":      {query: `created_on:<"2026-01-01T00:00:00Z"`, want: "created_on:[* TO 2026-01-01T00:00:00Z}"},
		"in brackets":       {query: "id:(>=2 AND <5)", want: "+id:[2 TO *] +id:[* TO 5}"},
		"space after colon": {query: "id: >5", want: "id:{5 TO *]"},
		"empty quotes":      {query: `author:["" TO ""}`, want: `author:["" TO ""}`},
		"more than nothing": {query: `author:>""`, want: `author:{"" TO *]`},
		"open comparison":   {query: `id:>\*`, want: "id:{* TO *]"},
	})
	testFail(t, map[string]failCase{
		"unclosed":          {"id:[1 TO 5", `unclosed range (opened at position 3) at position 10, at the end: expected "]" or "}"`},
		"no upper bound":    {"id:[1 TO", `unclosed range (opened at position 3) at position 8, at the end: expected a bound, or * for an open end`},
		"no TO":             {"id:[1 5]", `bad range at position 6, near "5]": expected TO between the two bounds`},
		"lower-case to":     {"id:[1 to 5]", `bad range at position 6, near "to 5]": expected TO between the two bounds`},
		"three bounds":      {"id:[1 TO 2 3]", `bad range at position 11, near "3]": expected "]" or "}"; to use a bound with spaces, put it in quotes`},
		"empty":             {"id:[]", `a range lacks a bound at position 4, near "]": expected a value, or * for an open end`},
		"text after quotes": {`id:["a"b TO 5]`, `text right after a quote at position 7, near "b TO 5]": expected a space or a bracket`},
		"unclosed quote":    {`id:["a TO 5]`, `unclosed quote (opened at position 4) at position 12, at the end: expected "\""`},
		"trailing escape":   {`id:[a TO b\`, `no character after the backslash at position 10, near "\\": expected a character after it, or \\`},
		"sign alone":        {"id:>", `no value right after > at position 4, at the end: expected a value`},
		"sign, then space":  {"id:>= 5", `no value right after >= at position 5, near " 5": expected a value`},
		"sign and brackets": {"id:>(5)", `no value right after > at position 4, near "(5)": expected a value`},
		"slop on a range":   {"id:[1 TO 2]~1", `misplaced ~ at position 11, near "~1": expected a clause before it`},
	})
}

func TestRangeTree(t *testing.T) {
	q, err := query.Parse(`id:>=5`)
	if err != nil {
		t.Fatal(err)
	}
	want := query.Range{
		Leaf: query.Leaf{Field: query.FieldName{Name: "id"}},
		From: query.Bound{Text: "5", Inclusive: true},
		To:   query.Bound{Open: true, Inclusive: true},
	}
	if diff := cmp.Diff(query.Node(want), q.Root); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
