// Package text formats numbers, and shortens and escapes texts for users.
//
// It may import only the standard library.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cut shortens s to at most n characters. If it removes characters, the result ends in "…".
func Cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// Thousands formats a number with commas: 1,234,567.
func Thousands[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural formats a number of things, such as "1 error" or "2 errors". what is the singular; its plural must end with an additional s.
func Plural[N int | int64](n N, what string) string {
	if n != 1 {
		what += "s"
	}
	return Thousands(n) + " " + what
}

// Visible replaces dangerous characters in s with escapes such as \x1b, \n and \u202e: control characters, line separators, controls of the
// writing direction, and bytes that are not UTF-8. Such characters could control a terminal, or could make one line look like another line
// or like several lines. Visible leaves everything else unchanged, including backslashes.
func Visible(s string) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || hidden(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !hidden(r):
			b.WriteString(s[:size])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[size:]
	}
	return b.String()
}

// Line returns s as one line. It replaces each sequence of white space with one space, and escapes other characters in the same way as
// Visible.
func Line(s string) string { return Visible(strings.Join(strings.Fields(s), " ")) }

// hidden reports whether Visible escapes a character.
func hidden(r rune) bool {
	const lineSeparator, paragraphSeparator = '\u2028', '\u2029'
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == lineSeparator || r == paragraphSeparator
}
