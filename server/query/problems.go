package query

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Severity says how serious a problem is.
type Severity string

const (
	// SeverityError means that the query or the order is invalid.
	SeverityError Severity = "error"
	// SeverityWarning means that the query is valid, but probably does not mean what its author intended.
	SeverityWarning Severity = "warning"
	// SeverityHint means that a person can mean something else by the query. Only a person who is typing gets hints. A stored query gets none,
	// because a query such as `salt and pepper` can be right.
	SeverityHint Severity = "hint"
)

// Problem is an error, a warning or a hint about a query or a sort string, with its position.
type Problem struct {
	Severity Severity
	// Start and End delimit the text that the problem is about, in characters (not bytes) from 0. Start equals End if the problem is at the
	// end of the text.
	Start, End int
	// Message is the message of the error, the warning or the hint.
	Message string
}

// Problems returns the error or the warnings of ParseFor as Problems, and hints. A blank query has no problems.
func Problems(q string, a Audience) []Problem {
	parsed, err := ParseFor(q, a)
	if err != nil {
		// parsed is used only if the error is about a private field. In that case, Parse succeeds.
		parsed, _ := Parse(q)
		return []Problem{problemOf(err, q, func(field string) stretch {
			return parsed.names[FieldName{Name: field, Pattern: strings.Contains(field, "*")}]
		})}
	}
	var all []Problem
	for _, w := range parsed.Warnings {
		all = append(all, Problem{Severity: SeverityWarning, Start: w.Start, End: w.End, Message: w.Message})
	}
	return append(all, hints(q, parsed.Root)...)
}

// OrderProblems returns the error of ParseOrderFor, if there is one, as a Problem. A blank order has no problems.
func OrderProblems(s string, a Audience) []Problem {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	_, err := ParseOrderFor(s, a)
	if err == nil {
		return nil
	}
	return []Problem{problemOf(err, s, func(field string) stretch {
		before, _, _ := strings.Cut(s, field)
		start := utf8.RuneCountInString(before)
		return stretch{start, start + utf8.RuneCountInString(field)}
	})}
}

// problemOf returns the problem for an error about text. For a field that the caller may not use, the function place returns the part of
// the text with the name of the field.
func problemOf(err error, text string, place func(field string) stretch) Problem {
	p := Problem{Severity: SeverityError, Message: err.Error()}
	if forbidden := (*ForbiddenFieldError)(nil); errors.As(err, &forbidden) {
		at := place(forbidden.Field)
		p.Start, p.End = at.start, at.end
		return p
	}
	if syntax := (*SyntaxError)(nil); errors.As(err, &syntax) {
		runes := []rune(text)
		p.Start = min(syntax.Position, len(runes))
		p.End = p.Start
		for p.End < len(runes) && !isSpace(runes[p.End]) {
			p.End++
		}
	}
	return p
}
