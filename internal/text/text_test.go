package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		in   string
		n    int
		want string
	}{{"éééé", 3, "éé…"}, {"éééé", 4, "éééé"}, {"", 1, ""}} {
		if got := Cut(tc.in, tc.n); got != tc.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tc.in, tc.n, got, tc.want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 errors", 1: "1 error", 1000: "1,000 errors"} {
		if got := Plural(n, "error"); got != want {
			t.Errorf("Plural(%d) = %s, want %s", n, got, want)
		}
	}
}

// visible maps arguments of Visible to the expected results.
var visible = map[string]string{
	"": "",
	"a `quoted` text, é, 日本, 👩\u200d🚀": "a `quoted` text, é, 日本, 👩\u200d🚀",
	`a\b`:                            `a\b`,
	"\x00\x1b[31mred\x7f":            `\x00\x1b[31mred\x7f`,
	"one\r\n\ttwo":                   `one\r\n\ttwo`,
	"\u0085\u009b31m":                `\u0085\u009b31m`,
	"\u061c\u200e\u200f":             `\u061c\u200e\u200f`,
	"\u202a\u202b\u202c\u202d\u202e": `\u202a\u202b\u202c\u202d\u202e`,
	"\u2066\u2067\u2068\u2069":       `\u2066\u2067\u2068\u2069`,
	"\u2028\u2029":                   `\u2028\u2029`,
	"\x9b31m, \xff, \ufffd":          `\x9b31m, \xff, ` + "\ufffd",
}

func TestVisible(t *testing.T) {
	for in, want := range visible {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzVisible checks that the result of Visible is valid UTF-8 without characters that Visible must escape, and that a second call changes
// nothing.
func FuzzVisible(f *testing.F) {
	for in := range visible {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := Visible(in)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, hidden) || Visible(got) != got {
			t.Errorf("Visible(%q) = %q", in, got)
		}
	})
}
