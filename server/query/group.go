package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/query/analysis"
)

// group parses clauses up to the end of the query, or up to the parenthesis that closes the parenthesis at position open. open is -1 if the
// group has no parentheses. Operators have no precedence: AND makes the clauses before and after it Must, and OR changes nothing.
func (p *parser) group(in scope, open int) (Node, error) {
	var (
		clauses       []Clause
		sawAnd, sawOr bool
	)
	p.skipSpace()
	all := stretch{p.pos, p.pos}
	for {
		tok, err := p.peek(in.list())
		if err != nil {
			return nil, err
		}
		if tok.kind == tokEnd || tok.kind == tokClose {
			if err := p.closing(tok, open, len(clauses) == 0); err != nil {
				return nil, err
			}
			break
		}
		and := false
		if tok.kind == tokAnd || tok.kind == tokOr {
			if len(clauses) == 0 {
				return nil, p.errorAt(tok.start, "misplaced "+p.text(tok), "a clause before it")
			}
			and = tok.kind == tokAnd
			sawAnd, sawOr = sawAnd || and, sawOr || !and
			p.pos = tok.end
			if err := p.wantClause(in, tok); err != nil {
				return nil, err
			}
		}
		clause, at, err := p.modified(in)
		if err != nil {
			return nil, err
		}
		if and {
			requireLast(clauses)
			if clause.Occur == Should {
				clause.Occur = Must
			}
		}
		clauses = append(clauses, clause)
		all.end = p.pos
		if open < 0 {
			p.parts = append(p.parts, Part{Start: at.start, End: at.end})
		}
	}
	if open < 0 {
		for i := range p.parts {
			p.parts[i].Clause = clauses[i]
		}
	}
	if len(clauses) == 1 && clauses[0].Occur == Should {
		return clauses[0].Node, nil
	}
	n := Bool{Clauses: clauses}
	if sawAnd && sawOr {
		p.warn(WarnMixedOperators, fmt.Sprintf("AND and OR are mixed without parentheses, and neither takes precedence: "+
			"the query is read as %s; use parentheses to group clauses", shorten(n.String())), all)
	}
	return n, nil
}

// closing checks the token that ends a group.
func (p *parser) closing(tok token, open int, empty bool) error {
	switch {
	case tok.kind == tokClose && open < 0:
		return p.errorAt(tok.start, "unbalanced parenthesis", `"(" before it`)
	case tok.kind == tokEnd && open >= 0:
		return p.errorAt(tok.start, opened("unbalanced parenthesis", open), `")"`)
	case empty:
		return p.errorAt(tok.start, "nothing between parentheses", "a clause")
	}
	return nil
}

// wantClause returns an error if no clause follows the token sign, which is an operator or a sign.
func (p *parser) wantClause(in scope, sign token) error {
	next, err := p.peek(in.list())
	if err != nil {
		return err
	}
	switch next.kind {
	case tokEnd, tokClose, tokAnd, tokOr:
		return p.errorAt(next.start, "nothing after "+p.text(sign), "a clause")
	}
	return nil
}

// requireLast changes the last clause with words, to which a following AND applies, to Must. It leaves a MustNot clause unchanged.
func requireLast(clauses []Clause) {
	for i := len(clauses) - 1; i >= 0; i-- {
		if wordless(clauses[i].Node) {
			continue
		}
		if clauses[i].Occur == Should {
			clauses[i].Occur = Must
		}
		return
	}
}

// wordless reports whether n is a text query without any words, such as "...". The plan of a query omits such a clause, so an AND after it
// applies to the clause before it.
func wordless(n Node) bool {
	switch n := n.(type) {
	case Bool:
		return !slices.ContainsFunc(n.Clauses, func(c Clause) bool { return !wordless(c.Node) })
	case Any:
		return !slices.ContainsFunc(n.Values, func(v Node) bool { return !wordless(v) })
	case Boost:
		return wordless(n.Node)
	case leaf:
		text, split := n.words()
		return split && n.header().onText() && !analysis.HasWord(text)
	}
	return false
}

// onText reports whether l tests a text field. A leaf without a field tests AllField, which is one.
func (l Leaf) onText() bool {
	if l.Field.Name == "" {
		return true
	}
	f, ok := Lookup(l.Field.Name)
	return ok && f.Type == Text
}

// modified parses a clause that can have a sign before it. It also returns the place of the clause, without the sign.
func (p *parser) modified(in scope) (Clause, stretch, error) {
	tok, err := p.peek(in.list())
	if err != nil {
		return Clause{}, stretch{}, err
	}
	occur := Should
	switch tok.kind {
	case tokPlus:
		occur = Must
	case tokMinus, tokNot:
		occur = MustNot
	}
	if occur != Should {
		p.pos = tok.end
		if err := p.wantClause(in, tok); err != nil {
			return Clause{}, stretch{}, err
		}
		next, err := p.peek(in.list())
		if err != nil {
			return Clause{}, stretch{}, err
		}
		switch next.kind {
		case tokPlus, tokMinus, tokNot:
			return Clause{}, stretch{}, p.errorAt(next.start, fmt.Sprintf("%s after %s", p.text(next), p.text(tok)), "a clause")
		}
	}
	p.skipSpace()
	start := p.pos
	n, err := p.clause(in)
	return Clause{Occur: occur, Node: n}, stretch{start, p.pos}, err
}

// clause parses an optional field prefix, and then the parentheses or the values to which the prefix applies.
func (p *parser) clause(in scope) (Node, error) {
	tok, err := p.peek(in.list())
	if err != nil {
		return nil, err
	}
	switch tok.kind {
	case tokTerm, tokStar, tokPrefix, tokWildcard:
		if p.colonAfter(tok.end) {
			return p.fielded(tok)
		}
	}
	if tok.kind == tokOpen {
		return p.parenthesized(in)
	}
	return p.values(in)
}

// colonAfter reports whether the next token from i on is a colon.
func (p *parser) colonAfter(i int) bool {
	for i < len(p.src) && isSpace(p.src[i]) {
		i++
	}
	return i < len(p.src) && p.src[i] == ':'
}

// fielded parses a clause with a field prefix. name is the token of the field name.
func (p *parser) fielded(name token) (Node, error) {
	if name.kind == tokPrefix || name.kind == tokWildcard {
		return nil, p.errorAt(name.start, "a field name with an unescaped wildcard", `a field name; in a pattern, write each * as \*`)
	}
	field, err := p.unescape(name.start, name.end, false)
	if err != nil {
		return nil, err
	}
	p.pos = name.end
	p.skipSpace()
	p.pos++ // the colon
	f := FieldName{Name: field, Pattern: strings.Contains(field, "*")}
	p.named(f, stretch{name.start, name.end})
	tok, err := p.peek(true)
	if err != nil {
		return nil, err
	}
	switch tok.kind {
	case tokEnd, tokClose, tokAnd, tokOr, tokNot, tokPlus, tokComma:
		return nil, p.errorAt(tok.start, fmt.Sprintf("no value for field %q", excerpt(field, longestName)), "a value")
	case tokMinus:
		return nil, p.errorAt(tok.start, fmt.Sprintf("no value for field %q", excerpt(field, longestName)), `a value; to begin a value with -, write \- or put the value in quotes`)
	}
	if tok.kind == tokOpen {
		return p.parenthesized(scope{field: f})
	}
	return p.values(scope{field: f})
}

// parenthesized parses clauses in parentheses, and the boost after them.
func (p *parser) parenthesized(in scope) (Node, error) {
	p.skipSpace()
	open := p.pos
	if p.depth++; p.depth > MaxNesting {
		err := p.errorAt(open, "too many nested parentheses", fmt.Sprintf("at most %d", MaxNesting))
		err.Limit = true
		return nil, err
	}
	p.pos++
	in.parenthesized = true
	n, err := p.group(in, open)
	if err != nil {
		return nil, err
	}
	p.skipSpace()
	p.pos++ // the closing parenthesis
	p.depth--
	return p.boosted(n, in)
}

// String returns the clauses with their signs as text.
func (n Bool) String() string {
	var b strings.Builder
	for i, c := range n.Clauses {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch c.Occur {
		case Must:
			b.WriteByte('+')
		case MustNot:
			b.WriteByte('-')
		case Should: // has no sign
		}
		b.WriteString(nested(c.Node))
	}
	return b.String()
}

// nested returns the text of n in a form that is valid in a group and before a boost.
func nested(n Node) string {
	switch n := n.(type) {
	case Bool:
		return "(" + n.String() + ")"
	case None:
		return "(-*:*)"
	}
	return n.String()
}

// String returns *:*.
func (All) String() string { return "*:*" }

// String returns the blank query.
func (None) String() string { return "" }

// shorten truncates a canonical form to 300 characters, for a message.
func shorten(s string) string {
	if cut := excerpt(s, 300); cut != s {
		return cut + "…"
	}
	return s
}
