// Package text formats numbers and shortens texts for users.
//
// It may import the standard library alone.
package text

import "strconv"

// Cut shortens s to at most n characters. If it leaves something out, the last character is ….
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

// Plural formats a number of things: 1 error, 2 errors. It forms the plural with s.
func Plural[N int | int64](n N, what string) string {
	if n != 1 {
		what += "s"
	}
	return Thousands(n) + " " + what
}
