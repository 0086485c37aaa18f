package query

// tokenKind is the kind of a token. As in Lucene, the lexer takes the longest token at a position.
type tokenKind uint8

const (
	tokEnd      tokenKind = iota
	tokTerm               // a word without wildcards
	tokPrefix             // word*
	tokWildcard           // any other word with * or ?
	tokStar               // * alone
	tokQuoted             // "text"
	tokRegexp             // /pattern/
	tokFuzzy              // ~ with the word characters after it
	tokAnd                // AND, &&
	tokOr                 // OR, ||
	tokNot                // NOT, !
	tokPlus               // +
	tokMinus              // -
	tokBareSign           // +, - or ! before white space, which is a word and not a sign
	tokOpen               // (
	tokClose              // )
	tokColon              // :
	tokBoost              // ^
	tokRange              // [ or {
	tokRangeEnd           // ] or }
	tokComma              // , in a list of values
)

// token is a part of the query: src[start:end].
type token struct {
	kind       tokenKind
	start, end int
}

// isSpace reports whether c is white space, which separates clauses.
func isSpace(c rune) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\u3000'
}

// isTermStart reports whether c can start a word without a backslash.
func isTermStart(c rune) bool {
	switch c {
	case '+', '-', '!', '(', ')', ':', '^', '[', ']', '"', '{', '}', '~', '*', '?', '\\', '/':
		return false
	}
	return !isSpace(c)
}

// isTermPart reports whether c can be inside a word without a backslash.
func isTermPart(c rune) bool { return isTermStart(c) || c == '+' || c == '-' }

// skipSpace advances to the next character that is not white space.
func (p *parser) skipSpace() {
	for p.pos < len(p.src) && isSpace(p.src[p.pos]) {
		p.pos++
	}
}

// peek skips white space and returns the next token, without consuming either. If list is true, the token is in a list of values, where a
// comma is a separate token and ends a word.
func (p *parser) peek(list bool) (token, error) {
	at := p.pos
	for at < len(p.src) && isSpace(p.src[at]) {
		at++
	}
	one := func(k tokenKind) (token, error) { return token{k, at, at + 1}, nil }
	if at == len(p.src) {
		return token{tokEnd, at, at}, nil
	}
	switch c := p.src[at]; c {
	case '+', '-', '!':
		if at+1 < len(p.src) && isSpace(p.src[at+1]) {
			return one(tokBareSign)
		}
		return one(map[rune]tokenKind{'+': tokPlus, '-': tokMinus, '!': tokNot}[c])
	case '(':
		return one(tokOpen)
	case ')':
		return one(tokClose)
	case ':':
		return one(tokColon)
	case '^':
		return one(tokBoost)
	case '[', '{':
		return one(tokRange)
	case ']', '}':
		return one(tokRangeEnd)
	case '"':
		return p.delimited(at, tokQuoted, '"', "unclosed quote")
	case '/':
		return p.delimited(at, tokRegexp, '/', "unclosed regular expression")
	case '~':
		end, err := p.wordEnd(at+1, list, false)
		return token{tokFuzzy, at, end}, err
	case ',':
		if list {
			return one(tokComma)
		}
	}
	return p.word(at, list)
}

// word lexes a word, with or without wildcards, or an operator that consists of word characters.
func (p *parser) word(start int, list bool) (token, error) {
	end, err := p.wordEnd(start, list, true)
	if err != nil {
		return token{}, err
	}
	switch string(p.src[start:end]) {
	case "AND", "&&":
		return token{tokAnd, start, end}, nil
	case "OR", "||":
		return token{tokOr, start, end}, nil
	case "NOT":
		return token{tokNot, start, end}, nil
	case "*":
		return token{tokStar, start, end}, nil
	}
	wild, last := 0, -1
	for i := start; i < end; i++ {
		switch p.src[i] {
		case '\\':
			i++
		case '*', '?':
			wild, last = wild+1, i
		}
	}
	switch {
	case wild == 0:
		return token{tokTerm, start, end}, nil
	case wild == 1 && last == end-1 && p.src[last] == '*':
		return token{tokPrefix, start, end}, nil
	default:
		return token{tokWildcard, start, end}, nil
	}
}

// wordEnd returns the end of the run of word characters that starts at i. If wild is true, the run can contain * and ?.
func (p *parser) wordEnd(i int, list, wild bool) (int, error) {
	for i < len(p.src) {
		switch c := p.src[i]; {
		case c == '\\':
			if i+1 == len(p.src) {
				return 0, p.errorAt(i, "no character after the backslash", `a character after it, or \\`)
			}
			i += 2
			continue
		case list && c == ',':
			return i, nil
		case wild && (c == '*' || c == '?'):
		case !isTermPart(c):
			return i, nil
		}
		i++
	}
	return i, nil
}

// delimited lexes a token that starts and ends with a delimiter. A backslash escapes the next character.
func (p *parser) delimited(start int, kind tokenKind, delimiter rune, complaint string) (token, error) {
	for i := start + 1; i < len(p.src); i++ {
		switch p.src[i] {
		case '\\':
			i++
		case delimiter:
			return token{kind, start, i + 1}, nil
		}
	}
	return token{}, p.errorAt(len(p.src), opened(complaint, start), quoted(delimiter))
}
