package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lower converts each character to lower case separately, as Java's Character.toLowerCase does. For example, it converts a final Σ to σ,
// and İ to i.
func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return strings.Map(lowerRune, s)
		}
	}
	return strings.ToLower(s) // ASCII; returns s itself if it is lower case
}

// appendLower appends the result of lower.
func appendLower(dst []byte, s string) []byte {
	from := len(dst)
	dst = append(dst, s...)
	for i, c := range dst[from:] {
		switch {
		case c >= utf8.RuneSelf:
			return append(dst[:from], lower(s)...)
		case 'A' <= c && c <= 'Z':
			dst[from+i] = c + ('a' - 'A')
		}
	}
	return dst
}

// lowerRune converts a character to lower case. In addition to the pairs of Unicode 15.0, which Go knows, it converts the pairs that are
// new in Unicode 16.0, which JDK 25 knows. A later version of Go will also know them.
func lowerRune(r rune) rune {
	switch {
	case r < 0x1C89:
		return unicode.ToLower(r)
	case r == 0x1C89, r == 0xA7CC, r == 0xA7DA:
		return r + 1
	case r == 0xA7CB:
		return 0x264
	case r == 0xA7DC:
		return 0x19B
	case r >= 0x10D50 && r <= 0x10D65: // Garay
		return r + 0x20
	}
	return unicode.ToLower(r)
}
