package query_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

// parseCase is a query with its expected canonical form and warning codes.
type parseCase struct {
	query string
	want  string
	warns []string
}

// testParse checks that each query has the expected canonical form, and that this form parses to an equal tree.
func testParse(t *testing.T, cases map[string]parseCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			q, err := query.Parse(c.query)
			if err != nil {
				t.Fatalf("Parse(%q): %v", c.query, err)
			}
			if got := q.String(); got != c.want {
				t.Errorf("Parse(%q) is %s, want %s", c.query, got, c.want)
			}
			var codes []string
			for _, w := range q.Warnings {
				codes = append(codes, w.Code)
			}
			if diff := cmp.Diff(c.warns, codes); diff != "" {
				t.Errorf("warnings of %q (-want +got):\n%s", c.query, diff)
			}
			again, err := query.Parse(q.String())
			if err != nil {
				t.Fatalf("Parse of the canonical form %q: %v", q.String(), err)
			}
			if diff := cmp.Diff(q.Root, again.Root); diff != "" {
				t.Errorf("the tree of %q (-first +canonical):\n%s", c.query, diff)
			}
		})
	}
}

// failCase is a query with the complete expected error message.
type failCase struct{ query, want string }

func testFail(t *testing.T, cases map[string]failCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := query.Parse(c.query)
			var syntax *query.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("Parse(%q): %v, want a *SyntaxError", c.query, err)
			}
			if syntax.Error() != c.want {
				t.Errorf("Parse(%q):\n got %s\nwant %s", c.query, syntax, c.want)
			}
			if syntax.Limit {
				t.Errorf("Parse(%q): a limit", c.query)
			}
		})
	}
}

func TestParseBlank(t *testing.T) {
	for _, q := range []string{"", " ", "\t\r\n\u3000"} {
		got, err := query.Parse(q)
		if err != nil {
			t.Fatalf("Parse(%q): %v", q, err)
		}
		if got.Root != (query.None{}) || got.String() != "" {
			t.Errorf("Parse(%q) is %#v, want None", q, got.Root)
		}
	}
}

func TestParseLimits(t *testing.T) {
	word := func(n int) string { return strings.Repeat("x", n) }
	cases := map[string]struct {
		query    string
		reason   string // "" for a valid query
		position int
	}{
		"length":           {query: word(query.MaxLength)},
		"too long":         {query: word(query.MaxLength + 1), reason: "the query has 16385 bytes", position: query.MaxLength},
		"too long, wide":   {query: strings.Repeat("海", query.MaxLength/3+1), reason: "the query has 16386 bytes", position: query.MaxLength / 3},
		"nesting":          {query: strings.Repeat("(", query.MaxNesting) + "a" + strings.Repeat(")", query.MaxNesting)},
		"too deep":         {query: strings.Repeat("(", query.MaxNesting+1) + "a" + strings.Repeat(")", query.MaxNesting+1), reason: "too many nested parentheses", position: query.MaxNesting},
		"not closed":       {query: strings.Repeat("(", query.MaxLength), reason: "too many nested parentheses", position: query.MaxNesting},
		"side by side":     {query: strings.Repeat("(a)", query.MaxClauses)},
		"clauses":          {query: strings.Repeat("a ", query.MaxClauses)},
		"too many clauses": {query: strings.Repeat("a ", query.MaxClauses+1), reason: "too many clauses", position: 2 * query.MaxClauses},
		"too many values":  {query: "id:1" + strings.Repeat(",1", query.MaxClauses), reason: "too many clauses", position: 3 + 2*query.MaxClauses},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := query.Parse(c.query)
			if c.reason == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var syntax *query.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("error %v, want a *SyntaxError", err)
			}
			if syntax.Reason != c.reason || syntax.Position != c.position || !syntax.Limit {
				t.Errorf("got %q at %d, limit %v; want %q at %d", syntax.Reason, syntax.Position, syntax.Limit, c.reason, c.position)
			}
		})
	}
}

func TestParseInvalidUTF8(t *testing.T) {
	_, err := query.Parse("海 a\xffb")
	var syntax *query.SyntaxError
	if !errors.As(err, &syntax) || syntax.Position != 3 {
		t.Errorf("got %v, want a *SyntaxError at position 3", err)
	}
}

func TestErrorsCountCharacters(t *testing.T) {
	_, err := query.Parse("夏の海 AND (ビーチ")
	want := `unbalanced parenthesis (opened at position 8) at position 12, at the end: expected ")"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
