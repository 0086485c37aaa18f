package query

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape removes the backslashes from src[start:end]. \x means x for every character x except u. \u and four hexadecimal digits mean a
// UTF-16 code unit. A character outside the Basic Multilingual Plane needs two such escapes. If wild is set, \*, \? and \\ stay escaped, as
// Wildcard requires.
func (p *parser) unescape(start, end int, wild bool) (string, error) {
	var b strings.Builder
	for i := start; i < end; i++ {
		c := p.src[i]
		if c == '\\' {
			i++ // the lexer guarantees that a character follows the backslash
			if p.src[i] == 'u' {
				decoded, next, err := p.codePoint(i-1, end)
				if err != nil {
					return "", err
				}
				i, c = next-1, decoded
			} else {
				c = p.src[i]
			}
			if wild && (c == '*' || c == '?' || c == '\\') {
				b.WriteByte('\\')
			}
		}
		b.WriteRune(c)
	}
	return b.String(), nil
}

// codePoint decodes the character at i, which is written as one \u escape, or as two \u escapes for a surrogate pair. It also returns the
// position after the escapes.
func (p *parser) codePoint(i, end int) (rune, int, error) {
	high, ok := p.codeUnit(i, end)
	if !ok {
		return 0, 0, p.errorAt(i, `bad \u escape`, "four hexadecimal digits after it")
	}
	if !utf16.IsSurrogate(high) {
		return high, i + 6, nil
	}
	if low, ok := p.codeUnit(i+6, end); ok {
		if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
			return r, i + 12, nil
		}
	}
	return 0, 0, p.errorAt(i, `unpaired surrogate in a \u escape`, "both surrogates of the pair")
}

// codeUnit decodes the \u escape at i, which has six characters. It returns false if there is no such escape.
func (p *parser) codeUnit(i, end int) (rune, bool) {
	if i+6 > end || p.src[i] != '\\' || p.src[i+1] != 'u' {
		return 0, false
	}
	var unit rune
	for _, c := range p.src[i+2 : i+6] {
		switch {
		case '0' <= c && c <= '9':
			unit = unit<<4 | (c - '0')
		case 'a' <= c && c <= 'f':
			unit = unit<<4 | (c - 'a' + 10)
		case 'A' <= c && c <= 'F':
			unit = unit<<4 | (c - 'A' + 10)
		default:
			return 0, false
		}
	}
	return unit, true
}

// writeWord writes s with escapes, so that it parses as one word. If value is true, s is a value of a named field: writeWord then also
// escapes commas, which would separate the values of a list, and a leading comparison sign.
func writeWord(b *strings.Builder, s string, value bool) {
	switch s {
	case "AND", "OR", "NOT", "&&", "||":
		b.WriteByte('\\')
	}
	for i, c := range s {
		switch {
		case isTermStart(c):
			if value && (c == ',' || i == 0 && (c == '<' || c == '>')) {
				b.WriteByte('\\')
			}
		case isTermPart(c) && i > 0:
		default:
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
}

// writeQuoted writes s in quotes, with escapes.
func writeQuoted(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, c := range s {
		if c == '"' || c == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	b.WriteByte('"')
}

// write writes the name and a colon. If there is no field, it writes nothing.
func (f FieldName) write(b *strings.Builder) {
	if f.Name != "" {
		writeWord(b, f.Name, false)
		b.WriteByte(':')
	}
}
