package item

import (
	"encoding/json"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. The package comment lists the characters that it escapes. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, s)
	return append(dst, '"')
}

// appendEscaped appends s in the form that it has between the quotes of a JSON string.
func appendEscaped(dst []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			w := eight(s[i:])
			if n := first(ends(w) | equals(w|2*ones, '>') | w&highs); n > 0 {
				i += n
				continue
			}
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				start = i + size
			case r == '\u2028' || r == '\u2029':
				dst = append(append(dst, s[start:i]...), `\u202`...)
				dst = append(dst, hexDigits[r&0xF])
				start = i + size
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
		}
		i++
		start = i
	}
	return append(dst, s[start:]...)
}

// The scanner reads eight bytes at a time. The function eight returns the first eight bytes of a text, with the first byte in the lowest
// bits. The functions equals and ends mark a byte by setting its high bit. Only the first mark is reliable. Later marks may be wrong.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// equals marks the bytes that are equal to c.
func equals(w uint64, c byte) uint64 {
	w ^= ones * uint64(c)
	return (w - ones) &^ w & highs
}

// ends marks the bytes that must be escaped in every JSON string: quotes, backslashes and control characters.
func ends(w uint64) uint64 { return equals(w, '"') | equals(w, '\\') | (w-ones*' ')&^w&highs }

// first returns the number of bytes before the first marked byte, or 8 if no byte is marked.
func first(marks uint64) int { return bits.TrailingZeros64(marks) / 8 }

// appendFloat appends f as the shortest JSON number that parses back to f. For NaN and infinities, it appends 0.
func appendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, '0')
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64)
}

// appendRaw appends raw without white space and with the escapes of AppendString. For nil and invalid JSON, it appends null. It removes
// white space, so that an item stays on one line of an export even if a manifest has line breaks in its free JSON.
func appendRaw(dst []byte, raw json.RawMessage) []byte {
	if !json.Valid(raw) {
		return append(dst, "null"...)
	}
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case ' ', '\t', '\r', '\n':
		case '"':
			end := closingQuote(raw, i)
			dst = append(dst, '"')
			dst = appendEscapedAgain(dst, raw[i+1:end])
			dst = append(dst, '"')
			i = end
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// closingQuote returns the index of the quote that ends the string at raw[i], or len(raw) if there is none.
func closingQuote(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(raw)
}

// appendEscapedAgain appends the text between the quotes of a JSON string. It keeps existing escapes and adds missing ones.
func appendEscapedAgain(dst, inside []byte) []byte {
	for i := 0; i < len(inside); {
		switch c := inside[i]; {
		case c == '<' || c == '>':
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
			i++
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, size := utf8.DecodeRune(inside[i:])
			if r == '\u2028' || r == '\u2029' {
				dst = append(append(dst, `\u202`...), hexDigits[r&0xF])
			} else {
				dst = utf8.AppendRune(dst, r)
			}
			i += size
		}
	}
	return dst
}

// appendValue appends a decoded JSON value with sorted members.
func appendValue(dst []byte, v value) []byte {
	switch v.kind {
	case boolean, number:
		return append(dst, v.text...)
	case text:
		return AppendString(dst, v.text)
	case array:
		dst = append(dst, '[')
		for i, e := range v.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, e.value)
		}
		return append(dst, ']')
	case structure:
		dst = append(dst, '{')
		for i, m := range v.sorted() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendString(dst, m.name), ':')
			dst = appendValue(dst, m.value)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}
