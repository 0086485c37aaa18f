package automaton

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// MaxPrinted is the maximum length of the printed form of a pattern, in UTF-16 code units. Lucene processes each part of a sequence in a
	// recursive call, and a thread of OpenSearch has stack space for about 7,500 parts.
	MaxPrinted = 4000
	// maxPrintedNesting is the maximum nesting depth of parentheses in the printed form. A thread of OpenSearch has stack space for about 600.
	maxPrintedNesting = 100
	// maxPrintedRepetitions is the maximum of printed.repetitions. Lucene copies the operands of repetitions, and the time to compile a series
	// of optional parts grows with the third power of their number: 100 such parts take about 10 ms, and 1,000 take 10 s. A query has space
	// for 80 patterns with 100 such parts.
	maxPrintedRepetitions = 100
)

// Print returns an expression in a subset of the syntax of Lucene's RegExp. All versions of Lucene from 9.12 to 10.5 interpret this subset
// in the same way, with all optional operators and with INTERSECTION alone (make lucene compares them):
//
//   - Letters, digits, white space, control characters and characters outside of ASCII stand for themselves. A backslash precedes every
//     other character.
//   - A class contains only single characters and ranges. It contains no punctuation and therefore no escapes, because the versions
//     interpret escapes in classes differently.
//   - The operators are . * + ? {n} {n,} {n,m} | & ( ) and (), which is the empty string. Parentheses enclose every operand that consists
//     of more than one character, class or group.
//
// Because all parentheses are balanced, text that is printed as one part of a Concat cannot end another part.
func (e Expression) Print() string {
	if e.never() {
		return "a&b"
	}
	return e.print().text
}

// checkPrinted returns an error that wraps ErrTooComplex if the printed form of an expression is too long, nests too deeply or contains
// too many repetitions.
func (e Expression) checkPrinted() error {
	if e.never() {
		return nil
	}
	p := e.print()
	if p.depth > maxPrintedNesting || p.repetitions > maxPrintedRepetitions || len(utf16.Encode([]rune(p.text))) > MaxPrinted {
		return fmt.Errorf("print pattern: %w", ErrTooComplex)
	}
	return nil
}

// binding is how tightly the outermost operator of a printed expression binds.
type binding uint8

const (
	bindsUnion binding = iota
	bindsIntersection
	bindsConcat
	bindsRepeat
	bindsAtom
)

// printed is the text of an expression.
type printed struct {
	text  string
	binds binding
	// depth is the nesting depth of parentheses.
	depth int
	// repetitions is the number of repeated operands after Lucene has copied them: 1 for a? and a*, 2 for a+, 5 for a{2,5} and 3 for a{2,}.
	// Those in a copy count again. A higher number than maxPrintedRepetitions is not exact.
	repetitions int
}

// emptyString is the printed form of an expression that matches only the empty string.
var emptyString = printed{text: "()", binds: bindsAtom, depth: 1}

// operand returns the text of p as an operand of an operator. It adds parentheses unless p binds at least as tightly as least.
func (p printed) operand(least binding) printed {
	if p.binds >= least {
		return p
	}
	p.text, p.binds, p.depth = "("+p.text+")", bindsAtom, p.depth+1
	return p
}

// join joins operands with an operator that binds as tightly as binds. All these operators are associative.
func join(operands []printed, operator string, binds binding) printed {
	if len(operands) == 1 {
		return operands[0]
	}
	p := printed{binds: binds}
	texts := make([]string, len(operands))
	for i, o := range operands {
		o = o.operand(binds)
		texts[i], p.depth, p.repetitions = o.text, max(p.depth, o.depth), p.repetitions+o.repetitions
	}
	p.text = strings.Join(texts, operator)
	return p
}

// print returns the text of an expression that matches at least one string.
func (e Expression) print() printed {
	switch e.kind {
	case exprRunes:
		return printRunes(e.set)
	case exprRepeat:
		return e.printRepeat()
	case exprConcat, exprUnion, exprDFA:
	}
	var operands []printed
	seen := map[string]bool{}
	for _, part := range e.parts {
		if part.never() {
			continue // only an alternative of a union never matches
		}
		p := part.print()
		if e.kind == exprConcat && p == emptyString || e.kind == exprUnion && seen[p.text] {
			continue
		}
		seen[p.text] = true
		operands = append(operands, p)
	}
	switch {
	case len(operands) == 0:
		return emptyString
	case e.kind == exprUnion:
		return join(operands, "|", bindsUnion)
	case e.kind == exprDFA:
		return join(operands, "&", bindsIntersection)
	}
	return join(operands, "", bindsConcat)
}

func (e Expression) printRepeat() printed {
	if e.max == 0 || e.parts[0].never() {
		return emptyString
	}
	p := e.parts[0].print()
	if p == emptyString || e.min == 1 && e.max == 1 {
		return p
	}
	operator, copies := "{"+strconv.Itoa(e.min), e.max
	if e.max == unbounded {
		copies = e.min + 1
	}
	switch {
	case e.min == 0 && e.max == 1:
		operator = "?"
	case e.min == 0 && e.max == unbounded:
		operator = "*"
	case e.min == 1 && e.max == unbounded:
		operator = "+"
	case e.min == e.max:
		operator += "}"
	case e.max == unbounded:
		operator += ",}"
	default:
		operator += "," + strconv.Itoa(e.max) + "}"
	}
	p = p.operand(bindsAtom)
	p.text, p.binds = p.text+operator, bindsRepeat
	p.repetitions = copies * (1 + min(p.repetitions, maxPrintedRepetitions)) // min, because a hundred nested a+ would overflow
	return p
}

// printRunes returns the text for a set of characters: a character, a class, or alternatives that consist of a class and of the punctuation
// marks that cannot be in it.
func printRunes(set []runeRange) printed {
	if len(set) == 1 && set[0] == (runeRange{0, utf8.MaxRune}) {
		return printed{text: ".", binds: bindsAtom}
	}
	var marks []printed
	mark := func(r rune) { marks = append(marks, printed{text: `\` + string(r), binds: bindsAtom}) }
	var class strings.Builder
	members := 0
	for _, r := range set {
		for ; r.lo <= r.hi && isPunctuation(r.lo); r.lo++ {
			mark(r.lo)
		}
		for ; r.lo <= r.hi && isPunctuation(r.hi); r.hi-- {
			mark(r.hi)
		}
		if r.lo > r.hi {
			continue
		}
		members++
		class.WriteRune(r.lo)
		if r.lo < r.hi {
			members++
			class.WriteByte('-')
			class.WriteRune(r.hi)
		}
	}
	switch members {
	case 0:
	case 1:
		marks = append(marks, printed{text: class.String(), binds: bindsAtom})
	default:
		marks = append(marks, printed{text: "[" + class.String() + "]", binds: bindsAtom})
	}
	return join(marks, "|", bindsUnion)
}

// isPunctuation reports whether r is a printable ASCII character other than a letter, a digit and a space.
func isPunctuation(r rune) bool {
	return r > ' ' && r < 0x7F && !('0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z')
}
