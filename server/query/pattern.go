package query

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// wildcard makes the leaf of a word with wildcards. *:* is everything.
func (p *parser) wildcard(tok token, in scope) (Node, error) {
	if tok.kind == tokStar && in.field == (FieldName{Name: "*", Pattern: true}) {
		return All{}, nil
	}
	pattern, err := p.unescape(tok.start, tok.end, true)
	if err != nil {
		return nil, err
	}
	if tok.kind != tokStar && (pattern[0] == '*' || pattern[0] == '?') {
		p.warn(WarnLeadingWildcard, fmt.Sprintf("the pattern %s begins with a wildcard, so that every word has to be looked at: "+
			"begin it with a letter where the query is read often", shorten(pattern)))
	}
	return Wildcard{Field: in.field, Pattern: pattern, at: p.at(tok.start)}, nil
}

// String returns [field:]pattern.
func (n Wildcard) String() string {
	var b strings.Builder
	n.Field.write(&b)
	value := n.Field.Name != ""
	escaped := false
	for i, c := range n.Pattern {
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '*' || c == '?':
		case value && (c == ',' || i == 0 && (c == '<' || c == '>')),
			!isTermPart(c),
			i == 0 && !isTermStart(c):
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// String returns [field:]/pattern/.
func (n Regexp) String() string {
	var b strings.Builder
	n.Field.write(&b)
	b.WriteByte('/')
	escaped := false
	for _, c := range n.Pattern {
		if c == '/' && !escaped {
			b.WriteByte('\\')
		}
		escaped = c == '\\' && !escaped
		b.WriteRune(c)
	}
	b.WriteByte('/')
	return b.String()
}

// Automaton compiles the pattern, in lower case, as texts and keywords are compared. The error is a *SyntaxError.
func (n Wildcard) Automaton() (automaton.Automaton, error) {
	folded := Fold(n.Pattern)
	if prefix, ok := strings.CutSuffix(folded, "*"); ok && !strings.ContainsAny(prefix, `*?\`) {
		return automaton.Prefix(prefix), nil
	}
	a, err := automaton.Wildcard(folded)
	if err != nil {
		return nil, patternError(n.at, n.Pattern, 0, err)
	}
	return a, nil
}

// Automaton compiles the expression, in lower case throughout, as OpenSearch does. The error is a *SyntaxError.
func (n Regexp) Automaton() (automaton.Automaton, error) {
	a, err := automaton.Regexp(Fold(n.Pattern))
	if err != nil {
		return nil, patternError(n.at, n.Pattern, 1, err)
	}
	return a, nil
}

// patternError places the error about a pattern whose text begins lead characters behind its place.
func patternError(at place, pattern string, lead int, err error) *SyntaxError {
	var syntax *automaton.SyntaxError
	if errors.As(err, &syntax) {
		rest := []rune(pattern)
		rest = rest[min(syntax.Offset, len(rest)):]
		return &SyntaxError{
			Reason:   "bad regular expression (" + syntax.Reason + ")",
			Position: at.pos + lead + syntax.Offset,
			Near:     excerpt(string(rest)+strings.Repeat("/", lead), nearLength),
		}
	}
	out := at.errorAt(pattern, "the pattern is too complex", "fewer repetitions and alternatives")
	out.Limit = errors.Is(err, automaton.ErrTooComplex)
	return out
}
