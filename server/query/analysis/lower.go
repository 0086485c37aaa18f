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
	return strings.ToLower(s) // s is ASCII; ToLower returns s itself if it is already in lower case
}

// appendLower appends the result of lower to dst.
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

// lowerRune converts a character to lower case. It converts the pairs of Unicode 16.0, which JDK 25 uses. Go's unicode package has only
// those of Unicode 15.0, so lowerRune adds the others itself, until a later version of Go has them.
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
