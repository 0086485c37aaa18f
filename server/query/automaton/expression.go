package automaton

import (
	"slices"
	"unicode/utf8"
)

type exprKind uint8

const (
	exprRunes  exprKind = iota // any one character in set
	exprConcat                 // parts in sequence; the empty string if there are none
	exprUnion                  // one of parts
	exprRepeat                 // parts[0], min to max times
	exprDFA                    // the strings that all of parts accept; dfa accepts the same strings, and at least one
)

// unbounded is the value of max for a repetition without an upper limit.
const unbounded = -1

// Expression is the parsed form of a pattern. Print writes it for Lucene.
type Expression struct {
	kind     exprKind
	set      []runeRange
	parts    []Expression
	min, max int
	dfa      *dfa
}

// Literal returns an expression that matches only the given text.
func Literal(text string) Expression {
	e := Expression{kind: exprConcat}
	for _, r := range text {
		e.parts = append(e.parts, anyOf(runeRange{r, r}))
	}
	return e
}

// AnyString returns an expression that matches every string.
func AnyString() Expression {
	return Expression{kind: exprRepeat, parts: []Expression{anyRune()}, max: unbounded}
}

// Without returns an expression that matches every string that does not contain the character r.
func Without(r rune) Expression {
	one := Expression{kind: exprRunes, set: complement([]runeRange{{r, r}})}
	return Expression{kind: exprRepeat, parts: []Expression{one}, max: unbounded}
}

// Concat returns an expression that matches the expressions one after the other.
func Concat(parts ...Expression) Expression { return Expression{kind: exprConcat, parts: parts} }

// Trim returns an expression that matches the same texts as e, if they contain only characters for which keep returns true. In its printed
// form, only such characters begin and end the ranges of classes. OpenSearch converts a regular expression for a text field to lower case,
// which would otherwise extend a range such as the one up to Z to the characters up to z.
func (e Expression) Trim(keep func(rune) bool) Expression {
	if e.kind == exprRunes {
		e.set = trim(e.set, keep)
		return e
	}
	parts := make([]Expression, len(e.parts))
	for i, part := range e.parts {
		parts[i] = part.Trim(keep)
	}
	if e.kind == exprRepeat && e.min == 0 && parts[0].never() && !e.parts[0].never() {
		return Expression{kind: exprConcat}
	}
	e.parts = parts
	return e
}

// trim shortens ranges at both ends, so that they neither begin nor end with a character for which keep returns false. It makes punctuation
// at the ends ranges of their own, because a class cannot contain it.
func trim(set []runeRange, keep func(rune) bool) []runeRange {
	var out []runeRange
	for _, r := range set {
		for ; r.lo <= r.hi && (!keep(r.lo) || isPunctuation(r.lo)); r.lo++ {
			if keep(r.lo) {
				out = append(out, runeRange{r.lo, r.lo})
			}
		}
		for ; r.lo <= r.hi && (!keep(r.hi) || isPunctuation(r.hi)); r.hi-- {
			if keep(r.hi) {
				out = append(out, runeRange{r.hi, r.hi})
			}
		}
		if r.lo <= r.hi {
			out = append(out, r)
		}
	}
	return normalise(out)
}

// Source returns the expression from which Regexp, Wildcard or Prefix made an automaton. It returns false for other automata.
func Source(a Automaton) (Expression, bool) {
	switch a := a.(type) {
	case *dfa:
		return a.source, true
	case prefix:
		return Concat(Literal(string(a)), AnyString()), true
	}
	return Expression{}, false
}

// anyRune returns an expression that matches any one character.
func anyRune() Expression { return anyOf(runeRange{0, utf8.MaxRune}) }

// anyOf returns an expression that matches any one character in the ranges.
func anyOf(set ...runeRange) Expression { return Expression{kind: exprRunes, set: normalise(set)} }

// automaton converts an expression to a deterministic automaton. effort is the maximum number of steps.
func (e Expression) automaton(effort int) (*dfa, error) {
	p := &program{}
	entry := e.compile(p, p.match())
	d, err := p.determinize(entry, MaxStates, effort)
	if err != nil {
		return nil, err
	}
	d.effort += len(p.code)
	d.source = e
	return d, nil
}

// never reports whether e accepts no string at all, as # does. As in Lucene, not even the empty string matches such an expression with a
// star.
func (e Expression) never() bool {
	switch e.kind {
	case exprRunes:
		return len(e.set) == 0
	case exprConcat:
		return slices.ContainsFunc(e.parts, Expression.never)
	case exprUnion:
		return !slices.ContainsFunc(e.parts, func(p Expression) bool { return !p.never() })
	case exprDFA:
		return slices.ContainsFunc(e.parts, Expression.never)
	default:
		return (e.min > 0 || e.max == unbounded) && e.parts[0].never()
	}
}

// merge makes e match itself low to high times, if that is possible without another expression around e. Otherwise, merge returns false.
// Without merge, a run of operators such as x++++ would nest as deeply as the pattern is long.
func (e *Expression) merge(low, high int) bool {
	switch {
	case low == 1 && high == 1:
		return true
	case e.kind != exprRepeat || high == 0 || low > 1 || e.parts[0].never():
		return false
	case e.max == unbounded && e.min <= 1:
		e.min *= low
		return true
	}
	return e.min == 0 && e.max == 1 && low == 0 && high == 1
}

// compile adds e to a program and returns its entry address. next is the address at which the program continues after e.
func (e Expression) compile(p *program, next int32) int32 {
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
func (e Expression) repeat(p *program, next int32) int32 {
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
func (e Expression) loop(p *program, next int32) int32 {
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
