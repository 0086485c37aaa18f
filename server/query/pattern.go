package query

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// wildcard returns the leaf for a word with wildcards. *:* is All.
func (p *parser) wildcard(tok token, in scope) (Node, error) {
	if tok.kind == tokStar && in.field == (FieldName{Name: "*", Pattern: true}) {
		return All{}, nil
	}
	pattern, err := p.unescape(tok.start, tok.end, true)
	if err != nil {
		return nil, err
	}
	if tok.kind != tokStar && (pattern[0] == '*' || pattern[0] == '?') {
		p.warn(WarnLeadingWildcard, fmt.Sprintf("the pattern %s starts with a wildcard, so the search tests every word: "+
			"if the query runs often, use a pattern that starts with a letter", shorten(pattern)), stretch{tok.start, tok.end})
	}
	return Wildcard{Leaf: Leaf{in.field, p.at(tok.start)}, Pattern: pattern}, nil
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

func (Wildcard) construct() string { return "a wildcard" }
func (n Wildcard) presence() bool  { return n.Pattern == "*" }
func (n Wildcard) pattern() (pattern, bool) {
	return pattern{sign: "*", text: n.Pattern, compile: compileWildcard}, true
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

func (Regexp) construct() string { return "a regular expression" }
func (n Regexp) pattern() (pattern, bool) {
	return pattern{sign: "/", text: n.Pattern, compile: automaton.Regexp, lead: 1}, true
}

// pattern is the pattern of a leaf. Patterns with the same sign and the same text in lower case have the same automaton.
type pattern struct {
	sign, text string
	compile    func(string) (automaton.Automaton, error)
	lead       int // the number of characters between the place of the leaf and text
}

// Patterns compiles the wildcards and regular expressions of one query. It compiles equal patterns only once. The zero value is ready to
// use. Patterns is not safe for concurrent use.
type Patterns struct {
	compiled map[string]automaton.Automaton
	states   int
	effort   int
}

// Compile returns the automaton of a leaf with a pattern (Wildcard or Regexp). It converts the pattern to lower case, because texts and
// keywords are compared in lower case (as in OpenSearch). The error is a *SyntaxError. SyntaxError.Limit is set if the pattern alone is too
// complex (see automaton.ErrTooComplex), or if all patterns together exceed MaxStates or MaxEffort.
func (p *Patterns) Compile(n Node) (automaton.Automaton, error) {
	of, ok := patternOf(n)
	if !ok {
		return nil, fmt.Errorf("compile pattern: %T is not a pattern", n)
	}
	key := of.sign + Fold(of.text)
	if a, ok := p.compiled[key]; ok {
		return a, nil
	}
	a, err := of.compile(Fold(of.text))
	if err == nil {
		p.states += automaton.Size(a)
		p.effort += automaton.Effort(a)
		if p.states > MaxStates || p.effort > MaxEffort {
			err = automaton.ErrTooComplex
		}
	}
	if err != nil {
		return nil, patternError(placeOf(n), of.text, of.lead, err)
	}
	if p.compiled == nil {
		p.compiled = map[string]automaton.Automaton{}
	}
	p.compiled[key] = a
	return a, nil
}

// patternOf returns the pattern of n, and false if n is not a leaf with a pattern.
func patternOf(n Node) (pattern, bool) {
	if l, ok := n.(leaf); ok {
		return l.pattern()
	}
	return pattern{}, false
}

// compileWildcard compiles a wildcard pattern. A plain prefix, which is the most frequent kind of pattern, needs no table of states.
func compileWildcard(pattern string) (automaton.Automaton, error) {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok && !strings.ContainsAny(prefix, `*?\`) {
		return automaton.Prefix(prefix), nil
	}
	return automaton.Wildcard(pattern)
}

// patternError returns the error about a pattern. at is the place of its node, and lead is the number of characters between that place and
// the text of the pattern.
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
	out := at.errorAt(pattern, "the pattern is too complex", "fewer repetitions, alternatives and patterns")
	out.Limit = errors.Is(err, automaton.ErrTooComplex)
	return out
}
