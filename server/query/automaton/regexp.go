package automaton

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Regexp returns an automaton for a regular expression in the syntax of Lucene's RegExp, with all optional operators. The expression is
// anchored at both ends. The syntax consists of . ? * + {n} {n,} {n,m} | & ( ) [ ] [^ ], "quoted text", a backslash before any character
// that is not a letter, and \d \D \s \S \w \W (ASCII). @ matches any string, # matches nothing, and () matches the empty string. <n-m>
// matches a number from n to m. If n and m have the same number of digits, the number must also have that many digits. Otherwise, it can
// have any number of leading zeros. & binds tighter than |, and concatenation binds tighter than &. ^, $ and ~ are ordinary characters. As
// in Lucene, an operator in a position where an operand is expected is an ordinary character. The comparison is case-sensitive.
//
// Errors are *SyntaxError, or wrap ErrTooComplex.
func Regexp(pattern string) (Automaton, error) {
	ps := &regexpParser{text: []rune(pattern), effort: maxEffort}
	e := expression{kind: exprConcat}
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
	if err != nil {
		return nil, fmt.Errorf("regular expression: %w", err)
	}
	d.effort = maxEffort - ps.effort
	return d, nil
}

type exprKind uint8

const (
	exprRunes  exprKind = iota // any one character in set
	exprConcat                 // parts in sequence; the empty string if there are none
	exprUnion                  // one of parts
	exprRepeat                 // parts[0], min to max times
	exprDFA                    // the strings that dfa accepts; it accepts at least one
)

// unbounded is the value of max for a repetition without an upper limit.
const unbounded = -1

type expression struct {
	kind     exprKind
	set      []runeRange
	parts    []expression
	min, max int
	dfa      *dfa
}

// never reports whether e accepts no string at all, as # does. As in Lucene, not even the empty string matches such an expression with a
// star.
func (e expression) never() bool {
	switch e.kind {
	case exprRunes:
		return len(e.set) == 0
	case exprConcat:
		return slices.ContainsFunc(e.parts, expression.never)
	case exprUnion:
		return !slices.ContainsFunc(e.parts, func(p expression) bool { return !p.never() })
	case exprDFA:
		return false
	default:
		return (e.min > 0 || e.max == unbounded) && e.parts[0].never()
	}
}

// compile adds e to a program and returns its entry address. next is the address at which the program continues after e.
func (e expression) compile(p *program, next int32) int32 {
	if p.err != nil {
		return next
	}
	switch e.kind {
	case exprRunes:
		return p.runes(e.set, next)
	case exprConcat:
		for _, part := range slices.Backward(e.parts) {
			next = part.compile(p, next)
		}
		return next
	case exprUnion:
		at := e.parts[0].compile(p, next)
		for _, part := range e.parts[1:] {
			at = p.split(part.compile(p, next), at)
		}
		return at
	case exprDFA:
		return p.embed(e.dfa, next)
	default:
		return e.repeat(p, next)
	}
}

// repeat compiles min copies of the body. If there is no upper limit, the last of these copies becomes a loop. Otherwise, the optional
// copies follow, and before each of them the program can continue at next.
func (e expression) repeat(p *program, next int32) int32 {
	body, at, copies := e.parts[0], next, e.min
	if e.max == unbounded {
		if at = e.loop(p, next); copies > 0 {
			copies--
		}
	}
	for i := range copies + max(e.max-e.min, 0) {
		size := len(p.code)
		entry := body.compile(p, at)
		if p.err != nil || len(p.code) == size {
			break // the program is full, or the body is empty, so further copies would add nothing
		}
		if e.max != unbounded && i < e.max-e.min {
			entry = p.split(entry, next)
		}
		at = entry
	}
	return at
}

// loop compiles an expression that matches the body any number of times, or at least once if min > 0.
func (e expression) loop(p *program, next int32) int32 {
	body := e.parts[0]
	if body.never() {
		return p.add(instruction{op: opFail})
	}
	if e.min == 0 && body.kind == exprRunes && len(body.set) == 1 && body.set[0] == (runeRange{0, utf8.MaxRune}) {
		return p.anyString(next)
	}
	back := p.split(0, next)
	entry := body.compile(p, back)
	if p.err != nil {
		return next
	}
	p.code[back].out = entry
	if e.min == 0 {
		return back
	}
	return entry
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
func (ps *regexpParser) determinize(e expression) (*dfa, error) {
	p := &program{}
	entry := e.compile(p, p.match())
	d, err := p.determinize(entry, MaxStates, ps.effort)
	if err != nil {
		return nil, err
	}
	ps.effort -= d.effort + len(p.code)
	return d, nil
}

func (ps *regexpParser) union() (expression, error) {
	e, err := ps.intersection()
	if err != nil {
		return e, err
	}
	u := expression{kind: exprUnion, parts: []expression{e}}
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
func (ps *regexpParser) intersection() (expression, error) {
	e, err := ps.concat()
	if err != nil || !ps.peek("&") {
		return e, err
	}
	all, err := ps.determinize(e)
	for err == nil && ps.take('&') {
		if e, err = ps.concat(); err != nil {
			break
		}
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
		return expression{}, err
	case !all.CanMatch(all.Start()):
		return anyOf(), nil
	}
	return expression{kind: exprDFA, dfa: all}, nil
}

func (ps *regexpParser) concat() (expression, error) {
	c := expression{kind: exprConcat}
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

func (ps *regexpParser) repetition() (expression, error) {
	e, err := ps.operand()
	for err == nil && ps.peek("?*+{") {
		r := expression{kind: exprRepeat, parts: []expression{e}}
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
		// Skip the operator if it changes nothing, as in x**. Without this shortcut, a run of operators would nest as deeply as the pattern is
		// long.
		if e.kind == exprRepeat && e.min == 0 && e.max == unbounded && r.min <= 1 && r.max != 0 && !e.never() {
			continue
		}
		e = r
	}
	return e, err
}

// count parses {n}, {n,} or {n,m}.
func (ps *regexpParser) count(r *expression) error {
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
func (ps *regexpParser) operand() (expression, error) {
	start := ps.pos
	switch {
	case ps.take('['):
		return ps.class(start)
	case ps.take('.'):
		return anyOf(runeRange{0, utf8.MaxRune}), nil
	case ps.take('#'):
		return anyOf(), nil
	case ps.take('@'):
		return expression{kind: exprRepeat, parts: []expression{anyOf(runeRange{0, utf8.MaxRune})}, max: unbounded}, nil
	case ps.take('<'):
		return ps.interval(start)
	case ps.take('"'):
		return ps.quoted(start)
	case ps.take('('):
		if ps.take(')') {
			return expression{kind: exprConcat}, nil
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
	r, err := ps.next()
	return anyOf(runeRange{r, r}), err
}

func anyOf(set ...runeRange) expression {
	return expression{kind: exprRunes, set: normalise(set)}
}

// interval parses <n-m>. The "<" is at start and has been consumed. As in Lucene, the higher number may come first.
func (ps *regexpParser) interval(start int) (expression, error) {
	end := start + 1
	for end < len(ps.text) && ps.text[end] != '>' {
		end++
	}
	low, high, _ := strings.Cut(string(ps.text[start+1:end]), "-")
	from, lowErr := strconv.ParseUint(strings.TrimPrefix(low, "+"), 10, 31)
	to, highErr := strconv.ParseUint(strings.TrimPrefix(high, "+"), 10, 31)
	if end == len(ps.text) || lowErr != nil || highErr != nil {
		return expression{}, ps.errorf(start, "expected an interval such as <1-99>; for the character <, write \\<")
	}
	ps.pos = end + 1
	from, to = min(from, to), max(from, to)
	if len(low) == len(high) {
		return between(fmt.Sprintf("%0*d", len(low), from), fmt.Sprintf("%0*d", len(low), to)), nil
	}
	// byLength accepts the numbers without leading zeros. It has one part for each number of digits.
	byLength := expression{kind: exprUnion}
	for first := uint64(0); first <= to; first = max(10, 10*first) {
		last := max(10, 10*first) - 1
		if last >= from {
			byLength.parts = append(byLength.parts, between(strconv.FormatUint(max(first, from), 10), strconv.FormatUint(min(last, to), 10)))
		}
	}
	zeros := expression{kind: exprRepeat, parts: []expression{anyOf(runeRange{'0', '0'})}, max: unbounded}
	return expression{kind: exprConcat, parts: []expression{zeros, byLength}}, nil
}

// between returns an expression for all strings of digits from one string to another. Both have the same length, and the second must not be
// less than the first.
func between(from, to string) expression {
	if from == "" {
		return expression{kind: exprConcat}
	}
	row := func(lo, hi byte, rest expression) expression {
		return expression{kind: exprConcat, parts: []expression{anyOf(runeRange{rune(lo), rune(hi)}), rest}}
	}
	lo, hi := from[0], to[0]
	if lo == hi {
		return row(lo, hi, between(from[1:], to[1:]))
	}
	lowest, highest := strings.Repeat("0", len(from)-1), strings.Repeat("9", len(from)-1)
	if from[1:] == lowest && to[1:] == highest {
		return row(lo, hi, between(lowest, highest))
	}
	u := expression{kind: exprUnion, parts: []expression{row(lo, lo, between(from[1:], highest)), row(hi, hi, between(lowest, to[1:]))}}
	if lo+1 < hi {
		u.parts = append(u.parts, row(lo+1, hi-1, between(lowest, highest)))
	}
	return u
}

func (ps *regexpParser) quoted(start int) (expression, error) {
	e := expression{kind: exprConcat}
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
func (ps *regexpParser) class(start int) (expression, error) {
	negated := ps.take('^')
	var set []runeRange
	for first := true; first || ps.more() && !ps.peek("]"); first = false {
		if ps.take('\\') {
			escaped, err := ps.escape()
			if err != nil {
				return expression{}, err
			}
			set = append(set, escaped...)
			continue
		}
		at := ps.pos
		lo, err := ps.next()
		if err != nil {
			return expression{}, ps.errorf(start, "unbalanced %q", '[')
		}
		hi := lo
		if ps.take('-') {
			ps.take('\\')
			if hi, err = ps.next(); err != nil {
				return expression{}, ps.errorf(start, "unbalanced %q", '[')
			}
		}
		if lo > hi {
			return expression{}, ps.errorf(at, "the range %c-%c is out of order", lo, hi)
		}
		set = append(set, runeRange{lo, hi})
	}
	if !ps.take(']') {
		return expression{}, ps.errorf(start, "unbalanced %q", '[')
	}
	e := anyOf(set...)
	if negated {
		e.set = complement(e.set)
	}
	return e, nil
}
