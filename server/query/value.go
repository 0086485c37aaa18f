package query

import (
	"fmt"
	"strings"
)

// value parses a word, a phrase, a pattern or a range, with the suffixes ^factor and ~number.
func (p *parser) value(in scope) (Node, error) {
	tok, err := p.peek(in.list())
	if err != nil {
		return nil, err
	}
	if err := p.leaf(tok.start); err != nil {
		return nil, err
	}
	switch tok.kind {
	case tokRange:
		return p.bracketRange(in)
	case tokTerm:
		if n, ok, err := p.comparison(tok, in); ok || err != nil {
			return n, err
		}
	case tokQuoted, tokPrefix, tokWildcard, tokStar, tokRegexp, tokBareSign:
	default:
		return nil, p.unexpected(tok)
	}
	p.pos = tok.end
	suffix, err := p.suffix(in)
	if err != nil {
		return nil, err
	}
	n, err := p.leafOf(tok, suffix, in)
	if err != nil {
		return nil, err
	}
	if suffix.boosted {
		n = Boost{Node: n, Factor: suffix.factor}
	}
	return n, nil
}

// leafOf returns the leaf for a token. As in Lucene, a ~ after a pattern has no effect.
func (p *parser) leafOf(tok token, s suffix, in scope) (Node, error) {
	at := p.at(tok.start)
	switch tok.kind {
	case tokQuoted:
		return p.phrase(tok, s, in)
	case tokRegexp:
		return Regexp{Leaf: Leaf{in.field, at}, Pattern: string(p.src[tok.start+1 : tok.end-1])}, nil
	case tokPrefix, tokWildcard, tokStar:
		return p.wildcard(tok, in)
	case tokBareSign:
		if s.near {
			return p.fuzzy(tok, s, in)
		}
		return Term{Leaf: Leaf{in.field, at}, Text: p.text(tok)}, nil
	}
	if s.near {
		return p.fuzzy(tok, s, in)
	}
	text, err := p.unescape(tok.start, tok.end, false)
	return Term{Leaf: Leaf{in.field, at}, Text: text}, err
}

// suffix contains the optional suffixes of a value, ^factor and ~number, which can be in either order.
type suffix struct {
	boosted bool
	factor  float64
	near    bool
	number  string // the text directly after the ~
	at      int    // position of ~
}

func (p *parser) suffix(in scope) (suffix, error) {
	var s suffix
	for {
		tok, err := p.peek(in.list())
		if err != nil {
			return s, err
		}
		switch {
		case tok.kind == tokBoost && !s.boosted:
			s.boosted = true
			if s.factor, err = p.factor(tok); err != nil {
				return s, err
			}
		case tok.kind == tokFuzzy && !s.near:
			s.near, s.at, s.number = true, tok.start, string(p.src[tok.start+1:tok.end])
			p.pos = tok.end
		default:
			return s, nil
		}
	}
}

// unexpected returns the error for a token that cannot start a clause.
func (p *parser) unexpected(tok token) error {
	switch tok.kind {
	case tokRangeEnd:
		return p.errorAt(tok.start, "unbalanced range bracket", `"[" or "{" before it`)
	case tokEnd, tokClose, tokAnd, tokOr:
		return p.errorAt(tok.start, "a clause is missing", "a word, a phrase or parentheses")
	case tokComma:
		return p.errorAt(tok.start, "nothing before the comma", "a value")
	case tokPlus, tokMinus, tokNot:
		return p.errorAt(tok.start, "misplaced "+p.text(tok), `a value; to begin a value with `+p.text(tok)+`, write \`+p.text(tok)+` or put the value in quotes`)
	case tokColon:
		return p.errorAt(tok.start, "misplaced colon", `one field name before it; in a value, write a colon as \: or put the value in quotes`)
	}
	return p.errorAt(tok.start, "misplaced "+string(p.src[tok.start]), "a clause before it")
}

// String returns [field:]word.
func (n Term) String() string {
	var b strings.Builder
	b.Grow(len(n.Field.Name) + len(n.Text) + len(`:""`))
	n.Field.write(&b)
	if n.Text == "" {
		return b.String() + `""`
	}
	writeWord(&b, n.Text, n.Field.Name != "")
	return b.String()
}

func (n Term) words() (string, bool)   { return n.Text, true }
func (n Term) interval() (Range, bool) { return n.only(n.Text), true }

// only returns the range that contains only one value.
func (l Leaf) only(value string) Range {
	b := Bound{Text: value, Inclusive: true, at: l.at}
	return Range{Leaf: l, From: b, To: b}
}

// phrase returns the leaf for quoted text. The number after ~ is the slop. The default is 0.
func (p *parser) phrase(tok token, s suffix, in scope) (Node, error) {
	text, err := p.unescape(tok.start+1, tok.end-1, false)
	if err != nil {
		return nil, err
	}
	slop, ok := wholePart(s.number)
	if !ok && s.number != "" {
		return nil, p.errorAt(s.at, "bad slop", "the number of moves allowed, such as ~2")
	}
	return Phrase{Leaf: Leaf{in.field, p.at(tok.start)}, Text: text, Slop: slop}, nil
}

// String returns [field:]"text"[~slop].
func (n Phrase) String() string {
	var b strings.Builder
	n.Field.write(&b)
	writeQuoted(&b, n.Text)
	if n.Slop > 0 {
		fmt.Fprintf(&b, "~%d", n.Slop)
	}
	return b.String()
}

func (n Phrase) words() (string, bool)   { return n.Text, true }
func (n Phrase) interval() (Range, bool) { return n.only(n.Text), true }
