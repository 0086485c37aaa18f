package main

import (
	"strings"
	"testing"
)

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

// TestMinimiseEnds holds that the work on one query is bounded.
func TestMinimiseEnds(t *testing.T) {
	text := strings.Repeat("(a b) ", 300)
	asked := 0
	minimise(text, func(string) bool { asked++; return asked%2 == 1 })
	if asked > maxAttempts {
		t.Errorf("%d candidates were tried, at most %d should be", asked, maxAttempts)
	}
}
