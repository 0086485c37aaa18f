package query

import (
	"slices"
	"strings"
)

// Spot describes the position of the cursor in a query that a user is typing, so that an editor can complete the query. The query can be
// invalid.
type Spot struct {
	// Start and End delimit the text that a completion replaces: a word or a quoted text. They count characters. If the position is between
	// words, they are equal.
	Start, End int
	// Typed is the part of this text before the position, without escapes and quotes.
	Typed string
	// Quoted is true if this text begins with a quote.
	Quoted bool
	// Field is the field of the value at the position. It is zero where a clause begins.
	Field FieldName
	// Named is true if this text is the name of a field and a colon already follows it.
	Named bool
	// Follows is true if there is a clause directly before the position, so that AND and OR are possible.
	Follows bool
	// Group is where the innermost parentheses around the position begin, after the parenthesis itself, or 0 if there are none.
	Group int
	// Words are the words without a field that end with this text, with nothing between them. The last one is this text itself. There is none
	// if this text is not such a word.
	Words []SpotWord
}

// SpotWord is a word without a field.
type SpotWord struct {
	// Start is the position of the word, in characters.
	Start int
	// Follows is true if there is a clause directly before the word.
	Follows bool
}

// SpotAt returns the spot at a position in a query. The position counts characters and is at most the length of the query. SpotAt returns
// false where nothing can be completed: in a range, in a pattern, or in a number after ^ or ~.
func SpotAt(q string, at int) (Spot, bool) {
	s := spotter{parser: parser{src: []rune(q)}, at: at, scopes: []spotScope{{}}}
	for {
		tok := s.next()
		if tok.kind == tokEnd || tok.start >= at {
			return s.between(), true
		}
		if isWord(tok.kind) && at <= tok.end {
			return s.within(tok)
		}
		if !s.pass(tok) {
			return Spot{}, false
		}
	}
}

// spotter reads the tokens before a position.
type spotter struct {
	parser
	at int
	// scopes are the whole query and the open parentheses. The innermost come last.
	scopes []spotScope
	// field is the field whose colon has been read but whose value has not. last is the field of the previous value. Both can be zero.
	field, last FieldName
	follows     bool
	// words are the words without a field directly before the position.
	words []SpotWord
	// unclosed is true if the last token that the method next returned lacks its closing delimiter.
	unclosed bool
}

// spotScope is the field that the clauses in parentheses belong to, and where these clauses begin.
type spotScope struct {
	field FieldName
	start int
}

// next returns the next token. A token without its closing delimiter extends to the end of the query.
func (s *spotter) next() token {
	tok, err := s.peek(s.value().Name != "" || s.last.Name != "")
	if s.unclosed = err != nil; !s.unclosed {
		return tok
	}
	s.skipSpace()
	tok = token{tokTerm, s.pos, len(s.src)}
	switch s.src[s.pos] {
	case '"':
		tok.kind = tokQuoted
	case '/':
		tok.kind = tokRegexp
	}
	return tok
}

// isWord reports whether a token can be a value or the name of a field.
func isWord(k tokenKind) bool {
	switch k {
	case tokTerm, tokPrefix, tokWildcard, tokStar, tokQuoted, tokAnd, tokOr, tokNot, tokBareSign:
		return true
	}
	return false
}

// value returns the field that a value at the current position belongs to.
func (s *spotter) value() FieldName {
	if s.field.Name != "" {
		return s.field
	}
	return s.scope().field
}

// scope returns the innermost scope.
func (s *spotter) scope() spotScope { return s.scopes[len(s.scopes)-1] }

// between returns the spot for a position between two tokens.
func (s *spotter) between() Spot {
	return Spot{Start: s.at, End: s.at, Field: s.value(), Follows: s.follows && s.field.Name == "", Group: s.scope().start}
}

// within returns the spot for a position in a word.
func (s *spotter) within(tok token) (Spot, bool) {
	out := s.between()
	start := tok.start
	out.Start, out.End = tok.start, tok.end
	if out.Quoted = tok.kind == tokQuoted; out.Quoted {
		start++
		if s.unclosed {
			out.End = s.at // the text between the position and the end of the query is rarely part of the value
		} else if s.at == tok.end {
			return Spot{}, false
		}
	}
	typed, ok := s.typed(start)
	if !ok || strings.ContainsAny(typed, "*?") && !out.Quoted {
		return Spot{}, false
	}
	out.Typed, out.Named = typed, !out.Quoted && s.colonAfter(tok.end)
	if out.Named {
		out.Field, out.Follows = FieldName{}, false
	} else if out.Field.Name == "" && !out.Quoted {
		out.Words = append(slices.Clone(s.words), SpotWord{tok.start, out.Follows})
	}
	return out, true
}

// typed returns the text from start to the position, without escapes. It returns false if the position is within an escape.
func (s *spotter) typed(start int) (string, bool) {
	for i := start; i < s.at; i++ {
		if s.src[i] == '\\' {
			if i++; i == s.at {
				return "", false
			}
		}
	}
	text, err := s.unescape(start, max(start, s.at), false)
	return text, err == nil
}

// pass moves past a token that starts before the position. It returns false if nothing can be completed at the position.
func (s *spotter) pass(tok token) bool {
	s.pos = tok.end
	words := s.words
	s.words = nil
	switch tok.kind {
	case tokOpen:
		s.scopes = append(s.scopes, spotScope{s.value(), tok.end})
		s.field, s.last, s.follows = FieldName{}, FieldName{}, false
	case tokClose:
		s.scopes = s.scopes[:max(1, len(s.scopes)-1)]
		s.field, s.last, s.follows = FieldName{}, FieldName{}, true
	case tokAnd, tokOr, tokNot, tokPlus, tokMinus:
		s.field, s.last, s.follows = FieldName{}, FieldName{}, false
	case tokComma:
		s.field, s.follows = s.last, false
	case tokColon:
	case tokRange:
		return s.passTo("]}")
	case tokBoost:
		return s.passNumber()
	case tokFuzzy:
		return tok.end < s.at
	default:
		if tok.end >= s.at {
			return false // the position is in a value that is not a word, such as a regular expression
		}
		if !s.colonAfter(tok.end) {
			if tok.kind == tokTerm && s.value().Name == "" {
				s.words = append(words, SpotWord{tok.start, s.follows})
			}
			s.take()
			break
		}
		name, err := s.unescape(tok.start, tok.end, false)
		if err != nil {
			return false
		}
		s.skipSpace()
		s.pos++ // the colon
		if s.pos > s.at {
			return false // the position is between a name and its colon
		}
		s.field, s.follows = FieldName{Name: name, Pattern: strings.Contains(name, "*")}, false
	}
	return true
}

// take records that a value has ended at the current position.
func (s *spotter) take() { s.last, s.field, s.follows = s.value(), FieldName{}, true }

// passTo moves past the next character that is in ends. It returns false if there is no such character before the position.
func (s *spotter) passTo(ends string) bool {
	for s.pos < s.at {
		s.pos++
		if strings.ContainsRune(ends, s.src[s.pos-1]) {
			s.take()
			return true
		}
	}
	return false
}

// passNumber moves past a number. It returns false if the number extends to the position or beyond.
func (s *spotter) passNumber() bool {
	for s.pos < len(s.src) && strings.ContainsRune("0123456789.", s.src[s.pos]) {
		s.pos++
	}
	return s.pos < s.at
}

// WordText returns a value in the form in which it can follow a field and a colon: as a word with escapes or, if it is empty or contains
// white space, in quotes.
func WordText(value string) string {
	var b strings.Builder
	if strings.ContainsFunc(value, isSpace) || value == "" {
		writeQuoted(&b, value)
	} else {
		writeWord(&b, value, true)
	}
	return b.String()
}

// QuotedText returns a value in quotes, with the necessary escapes.
func QuotedText(value string) string {
	var b strings.Builder
	writeQuoted(&b, value)
	return b.String()
}

// NameText returns the name of a field in the form in which it can stand before a colon.
func NameText(name string) string {
	var b strings.Builder
	writeWord(&b, name, false)
	return b.String()
}
