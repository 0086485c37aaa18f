package query

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Query is a parsed query.
type Query struct {
	Root Node
	// Warnings contains the warnings about syntax (mixed AND and OR, and leading wildcards). If the query comes from ParseFor, it also
	// contains the warnings of Check.
	Warnings []Warning
	// names maps each field in the text to its first occurrence.
	names map[FieldName]stretch
	// parts holds the clauses that are not in parentheses.
	parts []Part
}

// String returns the canonical form of the query.
func (q Query) String() string {
	if q.Root == nil {
		return ""
	}
	return q.Root.String()
}

// Parse parses a query. The root of a blank query is None, which matches nothing. The error is a *SyntaxError.
func Parse(q string) (Query, error) {
	if len(q) > MaxLength {
		end := MaxLength // the end of the last character that fits into MaxLength bytes
		for end > 0 && !utf8.RuneStart(q[end]) {
			end--
		}
		return Query{}, &SyntaxError{
			Reason:   fmt.Sprintf("the query has %d bytes", len(q)),
			Position: utf8.RuneCountInString(q[:end]),
			Near:     excerpt(strings.ToValidUTF8(q[end:], "\uFFFD"), nearLength),
			Expected: fmt.Sprintf("at most %d", MaxLength),
			Limit:    true,
		}
	}
	p := &parser{src: []rune(q)}
	if !utf8.ValidString(q) {
		return Query{}, p.errorAt(invalidAt(q), "invalid UTF-8", "")
	}
	if p.skipSpace(); p.pos == len(p.src) {
		return Query{Root: None{}}, nil
	}
	root, err := p.group(scope{}, -1)
	if err != nil {
		return Query{}, err
	}
	return Query{Root: root, Warnings: p.warnings, names: p.names, parts: p.parts}, nil
}

// invalidAt returns the position of the first character in s that is not valid UTF-8, in characters.
func invalidAt(s string) int {
	n := 0
	for i, c := range s {
		if c == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				break
			}
		}
		n++
	}
	return n
}

// parser is the state of one Parse. It is a recursive descent parser over the characters of the query.
type parser struct {
	src      []rune
	pos      int // the next character
	depth    int // nesting of parentheses
	leaves   int
	warnings []Warning
	names    map[FieldName]stretch
	parts    []Part // the clauses that are not in parentheses, once the whole query is parsed
}

// stretch is a part of the query, in characters: src[start:end].
type stretch struct{ start, end int }

// named records the first place at which the query names a field.
func (p *parser) named(f FieldName, at stretch) {
	if p.names == nil {
		p.names = map[FieldName]stretch{}
	}
	if _, known := p.names[f]; !known {
		p.names[f] = at
	}
}

// scope is the context that parentheses pass to their clauses.
type scope struct {
	// field is the field before the parentheses. Its name is "" if there is none.
	field FieldName
	// parenthesized is true for clauses in parentheses, where white space is allowed around the commas of a list.
	parenthesized bool
}

// list reports whether a comma separates values, which it does only after a field prefix.
func (s scope) list() bool { return s.field.Name != "" }

// errorAt returns a SyntaxError about position i.
func (p *parser) errorAt(i int, reason, expected string) *SyntaxError {
	return &SyntaxError{Reason: reason, Position: i, Near: p.near(i), Expected: expected}
}

// near returns the text at position i, shortened for messages.
func (p *parser) near(i int) string {
	return string(p.src[i:min(i+nearLength, len(p.src))])
}

// at returns the place of a node that starts at i.
func (p *parser) at(i int) place { return place{pos: i, near: p.near(i)} }

// text returns the characters of a token as written.
func (p *parser) text(t token) string { return string(p.src[t.start:t.end]) }

// warn adds a warning, unless it is a duplicate or there are already maxWarnings warnings. It replaces control characters, because the
// message may become part of a header.
func (p *parser) warn(code, message string, at stretch) {
	message = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, message)
	if len(p.warnings) == maxWarnings {
		return
	}
	for _, w := range p.warnings {
		if w.Code == code && w.Message == message {
			return
		}
	}
	p.warnings = append(p.warnings, Warning{Code: code, Message: message, Start: at.start, End: at.end})
}

// leaf counts the leaf at position i towards MaxClauses.
func (p *parser) leaf(i int) error {
	if p.leaves++; p.leaves > MaxClauses {
		err := p.errorAt(i, "too many clauses", fmt.Sprintf("at most %d", MaxClauses))
		err.Limit = true
		return err
	}
	return nil
}

// opened adds to complaint, the reason of an error, the position of the opening character.
func opened(complaint string, at int) string {
	return fmt.Sprintf("%s (opened at position %d)", complaint, at)
}

// quoted returns c in double quotes, as in SyntaxError.Expected.
func quoted(c rune) string { return strconv.Quote(string(c)) }
