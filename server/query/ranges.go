package query

import "strings"

// bracketRange parses [from TO to]. Each end can have a square bracket, which includes the bound, or a brace, which excludes it.
func (p *parser) bracketRange(in scope) (Node, error) {
	p.skipSpace()
	open := p.pos
	p.pos++
	n := Range{Leaf: Leaf{in.field, p.at(open)}}
	var err error
	if n.From, err = p.bound(open); err != nil {
		return nil, err
	}
	n.From.Inclusive = p.src[open] == '['
	p.skipSpace()
	if !p.takeTo() {
		return nil, p.errorAt(p.pos, "bad range", "TO between the two bounds")
	}
	if n.To, err = p.bound(open); err != nil {
		return nil, err
	}
	p.skipSpace()
	if p.pos == len(p.src) {
		return nil, p.errorAt(p.pos, opened("unclosed range", open), `"]" or "}"`)
	}
	if c := p.src[p.pos]; c != ']' && c != '}' {
		return nil, p.errorAt(p.pos, "bad range", `"]" or "}"; to use a bound with spaces, put it in quotes`)
	}
	n.To.Inclusive = p.src[p.pos] == ']'
	p.pos++
	return p.boosted(n, in)
}

// takeTo consumes the word TO. It returns false if TO is not the next word.
func (p *parser) takeTo() bool {
	end := p.pos + len("TO")
	if end > len(p.src) || string(p.src[p.pos:end]) != "TO" || end < len(p.src) && !endsBound(p.src[end]) {
		return false
	}
	p.pos = end
	return true
}

// endsBound reports whether c ends a bound. No other character ends a bound, so :, -, / and | need no escape in a range.
func endsBound(c rune) bool { return isSpace(c) || c == ']' || c == '}' }

// bound parses one end of the range that begins at position open.
func (p *parser) bound(open int) (Bound, error) {
	p.skipSpace()
	start, end := p.pos, p.pos
	if start == len(p.src) {
		return Bound{}, p.errorAt(start, opened("unclosed range", open), "a bound, or * for an open end")
	}
	var text string
	var err error
	if p.src[start] == '"' {
		tok, err := p.delimited(start, tokQuoted, '"', "unclosed quote")
		if err != nil {
			return Bound{}, err
		}
		if end = tok.end; end < len(p.src) && !endsBound(p.src[end]) {
			return Bound{}, p.errorAt(end, "text right after a quote", "a space or a bracket")
		}
		text, err = p.unescape(start+1, end-1, false)
		if err != nil {
			return Bound{}, err
		}
	} else {
		for end < len(p.src) && !endsBound(p.src[end]) {
			if p.src[end] == '\\' {
				if end++; end == len(p.src) {
					return Bound{}, p.errorAt(end-1, "no character after the backslash", `a character after it, or \\`)
				}
			}
			end++
		}
		if text, err = p.unescape(start, end, false); err != nil {
			return Bound{}, err
		}
		if text == "" {
			return Bound{}, p.errorAt(start, "a range lacks a bound", "a value, or * for an open end")
		}
	}
	p.pos = end
	if text == "*" {
		return Bound{Open: true, at: p.at(start)}, nil
	}
	return Bound{Text: text, at: p.at(start)}, nil
}

// comparison parses >x, >=x, <x and <=x, which are comparisons only directly after a field prefix. ok is false if tok is not a comparison.
func (p *parser) comparison(tok token, in scope) (_ Node, ok bool, _ error) {
	if !in.list() {
		return nil, false, nil
	}
	sign := p.src[tok.start]
	if sign != '>' && sign != '<' {
		return nil, false, nil
	}
	start := tok.start + 1
	limit := Bound{Inclusive: start < len(p.src) && p.src[start] == '='}
	if limit.Inclusive {
		start++
	}
	p.pos = start
	if start == len(p.src) || isSpace(p.src[start]) {
		return nil, false, p.errorAt(start, "no value right after "+string(p.src[tok.start:start]), "a value")
	}
	next, err := p.peek(true)
	if err != nil {
		return nil, false, err
	}
	end := next.end
	switch next.kind {
	case tokTerm, tokAnd, tokOr, tokNot:
		end = max(end, tok.end)
		limit.Text, err = p.unescape(start, end, false)
	case tokQuoted:
		limit.Text, err = p.unescape(start+1, end-1, false)
	case tokMinus, tokPlus:
		if end, err = p.wordEnd(start, true, false); err == nil {
			limit.Text, err = p.unescape(start, end, false)
		}
	default:
		err = p.errorAt(start, "no value right after "+string(p.src[tok.start:start]), "a value")
	}
	if err == nil && limit.Text == "" && next.kind != tokQuoted {
		err = p.errorAt(start, "no value right after "+string(p.src[tok.start:start]), "a value")
	}
	if err != nil {
		return nil, false, err
	}
	p.pos = end
	limit.at = p.at(start)
	n := Range{Leaf: Leaf{in.field, p.at(tok.start)}}
	open := Bound{Open: true, Inclusive: true}
	if limit.Text == "*" {
		limit.Text, limit.Open = "", true
	}
	if sign == '>' {
		n.From, n.To = limit, open
	} else {
		n.From, n.To = open, limit
	}
	out, err := p.boosted(n, in)
	return out, true, err
}

// String returns [field:][from TO to].
func (n Range) String() string {
	var b strings.Builder
	n.Field.write(&b)
	if n.From.Inclusive {
		b.WriteByte('[')
	} else {
		b.WriteByte('{')
	}
	n.From.write(&b)
	b.WriteString(" TO ")
	n.To.write(&b)
	if n.To.Inclusive {
		b.WriteByte(']')
	} else {
		b.WriteByte('}')
	}
	return b.String()
}

func (n Range) interval() (Range, bool) { return n, true }

// write writes the bound. It adds quotes if the bound would not parse as the same bound without them.
func (b Bound) write(s *strings.Builder) {
	switch {
	case b.Open:
		s.WriteByte('*')
	case b.Text == "" || b.Text == "TO" || strings.ContainsFunc(b.Text, func(c rune) bool { return c == '"' || endsBound(c) }):
		writeQuoted(s, b.Text)
	default:
		s.WriteString(strings.ReplaceAll(b.Text, `\`, `\\`))
	}
}
