package parity

import (
	"slices"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/query"
)

// maxAttempts limits the work on one failing query.
const maxAttempts = 400

// minimise reduces a failing query to a shorter query that still fails. If the canonical form of the query fails too, it reduces the tree
// of the query. Otherwise, it reduces the text, word by word. It calls fails for each candidate, and returns the last candidate for which
// fails returned true.
func minimise(text string, fails func(string) bool) string {
	attempts := 0
	try := func(candidate string) bool {
		attempts++
		return attempts <= maxAttempts && fails(candidate)
	}
	if parsed, err := query.Parse(text); err == nil && try(parsed.Root.String()) {
		return smallestTree(parsed.Root, try).String()
	}
	return smallestText(text, try)
}

// smallestTree repeatedly replaces n with the first tree in smaller(n) that fails, until none of them fails.
func smallestTree(n query.Node, try func(string) bool) query.Node {
	for {
		i := -1
		candidates := smaller(n)
		for at, c := range candidates {
			if weight(c) < weight(n) && try(c.String()) {
				i = at
				break
			}
		}
		if i < 0 {
			return n
		}
		n = candidates[i]
	}
}

// weight is a number that must decrease with every step, so that the steps end: twice the length of the query, minus the length of the open
// ends of its ranges.
func weight(n query.Node) int {
	return len(strings.ReplaceAll(n.String(), "* TO", "")) + len(strings.ReplaceAll(n.String(), "TO *", ""))
}

// smaller returns all trees that are one step smaller than n. The smallest of them come first.
func smaller(n query.Node) []query.Node {
	var out []query.Node
	switch n := n.(type) {
	case query.Bool:
		for _, c := range n.Clauses {
			out = append(out, c.Node)
		}
		for i, c := range n.Clauses {
			if len(n.Clauses) > 1 {
				out = append(out, query.Bool{Clauses: slices.Delete(slices.Clone(n.Clauses), i, i+1)})
			}
			if c.Occur != query.Should {
				out = append(out, with(n, i, query.Clause{Node: c.Node}))
			}
			for _, s := range smaller(c.Node) {
				out = append(out, with(n, i, query.Clause{Occur: c.Occur, Node: s}))
			}
		}
	case query.Any:
		out = append(out, n.Values...)
		for i := range n.Values {
			if len(n.Values) > 2 {
				out = append(out, query.Any{Values: slices.Delete(slices.Clone(n.Values), i, i+1)})
			}
		}
	case query.Boost:
		out = append(out, n.Node)
		for _, s := range smaller(n.Node) {
			out = append(out, query.Boost{Node: s, Factor: n.Factor})
		}
	case query.Phrase:
		words := strings.Fields(n.Text)
		for i := range words {
			if len(words) > 1 {
				m := n
				m.Text = strings.Join(slices.Delete(slices.Clone(words), i, i+1), " ")
				out = append(out, m)
			}
		}
	case query.Range:
		if !n.From.Open && !n.To.Open {
			from, to := n, n
			from.From, to.To = query.Bound{Open: true, Inclusive: true}, query.Bound{Open: true, Inclusive: true}
			out = append(out, from, to)
		}
	}
	return out
}

// with returns a copy of the group n in which c replaces the clause at i.
func with(n query.Bool, i int, c query.Clause) query.Bool {
	clauses := slices.Clone(n.Clauses)
	clauses[i] = c
	return query.Bool{Clauses: clauses}
}

// smallestText removes words, two adjacent words or one word at a time, as long as the remaining text still fails.
func smallestText(text string, try func(string) bool) string {
	words := strings.Fields(text)
	for shorter := true; shorter; {
		shorter = false
		for width := 2; width > 0 && !shorter; width-- {
			for i := 0; i+width <= len(words) && len(words) > width; i++ {
				rest := slices.Delete(slices.Clone(words), i, i+width)
				if try(strings.Join(rest, " ")) {
					words, shorter = rest, true
					break
				}
			}
		}
	}
	if short := strings.Join(words, " "); len(short) < len(text) {
		return short
	}
	return text
}

func TestMinimise(t *testing.T) {
	contains := func(parts ...string) func(string) bool {
		return func(s string) bool {
			for _, p := range parts {
				if !strings.Contains(s, p) {
					return false
				}
			}
			return true
		}
	}
	tests := map[string]struct {
		text  string
		fails func(string) bool
		want  string
	}{
		"one clause of many":   {`a AND (b OR "c d"~2)^3 -e`, contains(`e`), `e`},
		"a sign that matters":  {`a AND (b OR "c d"~2)^3 -e`, contains(`-e`, `a`), `a -e`},
		"a phrase":             {`a "b c d e"~2 f`, contains(`"`, `d`, `~2`), `"d"~2`},
		"a boost":              {`a b^2 (c d^3)`, contains(`d`, `^3`), `d^3`},
		"a list":               {`text:(a,b,c) d`, contains(`text:(`, `c`), `text:(b,c)`},
		"a range":              {`a campaign:[1 TO 5]`, contains(`campaign`, `5`), `campaign:[* TO 5]`},
		"nothing can go":       {`a b`, contains(`a`, `b`), `a b`},
		"not in the tree":      {`a AND b OR c`, contains(` OR `), `b OR c`},
		"no query at all":      {`a AND AND b ) c`, contains(`)`), `)`},
		"only the whole fails": {`a AND AND b`, func(s string) bool { return s == `a AND AND b` }, `a AND AND b`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			last := tt.text
			got := minimise(tt.text, func(s string) bool {
				if !tt.fails(s) {
					return false
				}
				last = s
				return true
			})
			if got != tt.want {
				t.Errorf("minimise(%s) = %s, want %s", tt.text, got, tt.want)
			}
			if got != last {
				t.Errorf("minimise(%s) = %s, but the last query seen to fail is %s", tt.text, got, last)
			}
		})
	}
}

// TestMinimiseEnds checks that minimise calls fails at most maxAttempts times.
func TestMinimiseEnds(t *testing.T) {
	text := strings.Repeat("(a b) ", 300)
	asked := 0
	minimise(text, func(string) bool { asked++; return asked%2 == 1 })
	if asked > maxAttempts {
		t.Errorf("%d candidates were tried, at most %d should be", asked, maxAttempts)
	}
}
