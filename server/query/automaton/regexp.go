package automaton

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Regexp returns an automaton for a regular expression in the syntax of Lucene's RegExp, with all optional operators. The expression is
// anchored at both ends. The syntax consists of . ? * + {n} {n,} {n,m} | & ( ) [ ] [^ ], "quoted text", a backslash before any character
// that is not a letter, and \d \D \s \S \w \W (ASCII). @ matches any string, # matches nothing, and () matches the empty string. <n-m>
// matches a number from n to m. If n and m have the same number of digits, the number must also have that many digits. Otherwise, it can
// have any number of leading zeros. & binds tighter than |, and concatenation binds tighter than &. ^, $ and ~ are ordinary characters. As
// in Lucene, an operator in a position where an operand is expected is an ordinary character, except a closing parenthesis, which is an
// error. The comparison is case-sensitive.
//
// Errors are *SyntaxError, or wrap ErrTooComplex. Source returns the parsed expression.
func Regexp(pattern string) (Automaton, error) {
	ps := &regexpParser{text: []rune(pattern), effort: maxEffort}
	e := Expression{kind: exprConcat}
	if len(ps.text) > 0 {
		var err error
		if e, err = ps.union(); err != nil {
			if errors.Is(err, ErrTooComplex) {
				err = fmt.Errorf("regular expression: %w", err)
			}
			return nil, err
		}
		if ps.more() {
			return nil, ps.errorf(ps.pos, "unbalanced %q", ps.text[ps.pos])
		}
	}
	d, err := ps.determinize(e)
	if err == nil {
		err = e.checkPrinted()
	}
	if err != nil {
		return nil, fmt.Errorf("regular expression: %w", err)
	}
	d.effort = maxEffort - ps.effort
	return d, nil
}

// regexpParser is a recursive descent parser for regular expressions.
type regexpParser struct {
	text []rune
	pos  int
	// effort is the part of maxEffort that is left.
	effort int
}

func (ps *regexpParser) more() bool { return ps.pos < len(ps.text) }

// peek reports whether the next character is one of set.
func (ps *regexpParser) peek(set string) bool {
	return ps.more() && strings.ContainsRune(set, ps.text[ps.pos])
}

// take consumes the next character if it is r.
func (ps *regexpParser) take(r rune) bool {
	if ps.more() && ps.text[ps.pos] == r {
		ps.pos++
		return true
	}
	return false
}

func (ps *regexpParser) errorf(at int, format string, args ...any) error {
	return &SyntaxError{Offset: at, Reason: fmt.Sprintf(format, args...)}
}

// next consumes any one character.
func (ps *regexpParser) next() (rune, error) {
	if !ps.more() {
		return 0, ps.errorf(ps.pos, "unexpected end")
	}
	r := ps.text[ps.pos]
	ps.pos++
	return r, nil
}

// determinize converts an expression to a deterministic automaton within the remaining effort. It subtracts the effort of the conversion
// from ps.effort.
func (ps *regexpParser) determinize(e Expression) (*dfa, error) {
	d, err := e.automaton(ps.effort)
	if err != nil {
		return nil, err
	}
	ps.effort -= d.effort
	return d, nil
}

func (ps *regexpParser) union() (Expression, error) {
	e, err := ps.intersection()
	if err != nil {
		return e, err
	}
	u := Expression{kind: exprUnion, parts: []Expression{e}}
	for ps.take('|') {
		if e, err = ps.intersection(); err != nil {
			return e, err
		}
		u.parts = append(u.parts, e)
	}
	if len(u.parts) == 1 {
		return u.parts[0], nil
	}
	return u, nil
}

// intersection parses operands separated by &. It makes each operand deterministic, because only deterministic automata can be intersected.
func (ps *regexpParser) intersection() (Expression, error) {
	e, err := ps.concat()
	if err != nil || !ps.peek("&") {
		return e, err
	}
	parts := []Expression{e}
	all, err := ps.determinize(e)
	for err == nil && ps.take('&') {
		if e, err = ps.concat(); err != nil {
			break
		}
		parts = append(parts, e)
		var d *dfa
		if d, err = ps.determinize(e); err != nil {
			break
		}
		if all, err = intersect(all, d, MaxStates, ps.effort); err == nil {
			ps.effort -= all.effort
		}
	}
	switch {
	case err != nil:
		return Expression{}, err
	case !all.CanMatch(all.Start()):
		return anyOf(), nil
	}
	return Expression{kind: exprDFA, dfa: all, parts: parts}, nil
}

func (ps *regexpParser) concat() (Expression, error) {
	c := Expression{kind: exprConcat}
	for first := true; first || ps.more() && !ps.peek(")|&"); first = false {
		e, err := ps.repetition()
		if err != nil {
			return e, err
		}
		c.parts = append(c.parts, e)
	}
	if len(c.parts) == 1 {
		return c.parts[0], nil
	}
	return c, nil
}

func (ps *regexpParser) repetition() (Expression, error) {
	e, err := ps.operand()
	for err == nil && ps.peek("?*+{") {
		r := Expression{kind: exprRepeat, parts: []Expression{e}}
		switch {
		case ps.take('?'):
			r.min, r.max = 0, 1
		case ps.take('*'):
			r.min, r.max = 0, unbounded
		case ps.take('+'):
			r.min, r.max = 1, unbounded
		default:
			err = ps.count(&r)
		}
		if e.merge(r.min, r.max) {
			continue
		}
		e = r
	}
	return e, err
}

// count parses {n}, {n,} or {n,m}.
func (ps *regexpParser) count(r *Expression) error {
	open := ps.pos
	ps.pos++
	var err error
	if !ps.peek("0123456789") {
		return ps.errorf(ps.pos, "expected a number after %q", '{')
	}
	if r.min, err = ps.number(); err != nil {
		return err
	}
	r.max = r.min
	if ps.take(',') {
		r.max = unbounded
		if ps.peek("0123456789") {
			if r.max, err = ps.number(); err != nil {
				return err
			}
		}
	}
	if !ps.take('}') {
		return ps.errorf(ps.pos, "missing %q", '}')
	}
	if r.max != unbounded && r.min > r.max {
		return ps.errorf(open, "the repetition {%d,%d} is out of order", r.min, r.max)
	}
	return nil
}

func (ps *regexpParser) number() (int, error) {
	start, n := ps.pos, 0
	for ps.peek("0123456789") {
		if n = n*10 + int(ps.text[ps.pos]-'0'); n > math.MaxInt32 {
			return 0, ps.errorf(start, "the number is too large")
		}
		ps.pos++
	}
	return n, nil
}

// operand parses the operand of a repetition.
func (ps *regexpParser) operand() (Expression, error) {
	start := ps.pos
	switch {
	case ps.take('['):
		return ps.class(start)
	case ps.take('.'):
		return anyRune(), nil
	case ps.take('#'):
		return anyOf(), nil
	case ps.take('@'):
		return AnyString(), nil
	case ps.take('<'):
		return ps.interval(start)
	case ps.take('"'):
		return ps.quoted(start)
	case ps.take('('):
		if ps.take(')') {
			return Expression{kind: exprConcat}, nil
		}
		e, err := ps.union()
		if err == nil && !ps.take(')') {
			err = ps.errorf(start, "unbalanced %q", '(')
		}
		return e, err
	case ps.take('\\'):
		set, err := ps.escape()
		return anyOf(set...), err
	}
	if ps.peek(")") {
		return Expression{}, ps.errorf(start, "unbalanced %q", ')')
	}
	r, err := ps.next()
	return anyOf(runeRange{r, r}), err
}

// interval parses <n-m>. The "<" is at start and has been consumed. As in Lucene, the higher number may come first.
func (ps *regexpParser) interval(start int) (Expression, error) {
	end := start + 1
	for end < len(ps.text) && ps.text[end] != '>' {
		end++
	}
	low, high, _ := strings.Cut(string(ps.text[start+1:end]), "-")
	from, lowErr := strconv.ParseUint(strings.TrimPrefix(low, "+"), 10, 31)
	to, highErr := strconv.ParseUint(strings.TrimPrefix(high, "+"), 10, 31)
	if end == len(ps.text) || lowErr != nil || highErr != nil {
		return Expression{}, ps.errorf(start, "expected an interval such as <1-99>; for the character <, write \\<")
	}
	ps.pos = end + 1
	from, to = min(from, to), max(from, to)
	if len(low) == len(high) {
		return between(fmt.Sprintf("%0*d", len(low), from), fmt.Sprintf("%0*d", len(low), to)), nil
	}
	// byLength accepts the numbers without leading zeros. It has one part for each number of digits.
	byLength := Expression{kind: exprUnion}
	for first := uint64(0); first <= to; first = max(10, 10*first) {
		last := max(10, 10*first) - 1
		if last >= from {
			byLength.parts = append(byLength.parts, between(strconv.FormatUint(max(first, from), 10), strconv.FormatUint(min(last, to), 10)))
		}
	}
	zeros := Expression{kind: exprRepeat, parts: []Expression{anyOf(runeRange{'0', '0'})}, max: unbounded}
	return Expression{kind: exprConcat, parts: []Expression{zeros, byLength}}, nil
}

// between returns an expression for all strings of digits from one string to another. Both have the same length, and the second must not be
// less than the first.
func between(from, to string) Expression {
	if from == "" {
		return Expression{kind: exprConcat}
	}
	row := func(lo, hi byte, rest Expression) Expression {
		return Expression{kind: exprConcat, parts: []Expression{anyOf(runeRange{rune(lo), rune(hi)}), rest}}
	}
	lo, hi := from[0], to[0]
	if lo == hi {
		return row(lo, hi, between(from[1:], to[1:]))
	}
	lowest, highest := strings.Repeat("0", len(from)-1), strings.Repeat("9", len(from)-1)
	if from[1:] == lowest && to[1:] == highest {
		return row(lo, hi, between(lowest, highest))
	}
	u := Expression{kind: exprUnion, parts: []Expression{row(lo, lo, between(from[1:], highest)), row(hi, hi, between(lowest, to[1:]))}}
	if lo+1 < hi {
		u.parts = append(u.parts, row(lo+1, hi-1, between(lowest, highest)))
	}
	return u
}

func (ps *regexpParser) quoted(start int) (Expression, error) {
	e := Expression{kind: exprConcat}
	for ps.more() && !ps.peek(`"`) {
		r := ps.text[ps.pos]
		ps.pos++
		e.parts = append(e.parts, anyOf(runeRange{r, r}))
	}
	if !ps.take('"') {
		return e, ps.errorf(start, "missing closing quote")
	}
	return e, nil
}

// escape parses the text after a backslash: a named class, or a character that is not a letter.
func (ps *regexpParser) escape() ([]runeRange, error) {
	at := ps.pos - 1
	r, err := ps.next()
	if err != nil {
		return nil, ps.errorf(at, "nothing follows the backslash")
	}
	digit := []runeRange{{'0', '9'}}
	space := []runeRange{{'\t', '\n'}, {'\r', '\r'}, {' ', ' '}}
	word := []runeRange{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	switch r {
	case 'd':
		return digit, nil
	case 'D':
		return complement(digit), nil
	case 's':
		return space, nil
	case 'S':
		return complement(space), nil
	case 'w':
		return word, nil
	case 'W':
		return complement(word), nil
	}
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return nil, ps.errorf(at, "unknown class \\%c", r)
	}
	return []runeRange{{r, r}}, nil
}

// class parses a bracket expression. The "[" is at start and has been consumed. A "]" directly after "[" or "[^" is an ordinary character.
func (ps *regexpParser) class(start int) (Expression, error) {
	negated := ps.take('^')
	var set []runeRange
	for first := true; first || ps.more() && !ps.peek("]"); first = false {
		if ps.take('\\') {
			escaped, err := ps.escape()
			if err != nil {
				return Expression{}, err
			}
			set = append(set, escaped...)
			continue
		}
		at := ps.pos
		lo, err := ps.next()
		if err != nil {
			return Expression{}, ps.errorf(start, "unbalanced %q", '[')
		}
		hi := lo
		if ps.take('-') {
			ps.take('\\')
			if hi, err = ps.next(); err != nil {
				return Expression{}, ps.errorf(start, "unbalanced %q", '[')
			}
		}
		if lo > hi {
			return Expression{}, ps.errorf(at, "the range %c-%c is out of order", lo, hi)
		}
		set = append(set, runeRange{lo, hi})
	}
	if !ps.take(']') {
		return Expression{}, ps.errorf(start, "unbalanced %q", '[')
	}
	e := anyOf(set...)
	if negated {
		e.set = complement(e.set)
	}
	return e, nil
}
