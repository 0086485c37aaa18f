package query

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Problem is an error or a warning about a query or a sort string, with its position.
type Problem struct {
	// Warning is true for a warning, false for an error.
	Warning bool
	// Start and End delimit the text that the problem is about, in characters (not bytes) from 0. Start equals End if the problem is at the
	// end of the text.
	Start, End int
	// Message is the message of the error or the warning.
	Message string
}

// Problems returns the error or the warnings of ParseFor as Problems. A blank query has no problems.
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
		all = append(all, Problem{Warning: true, Start: w.Start, End: w.End, Message: w.Message})
	}
	return all
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
	p := Problem{Message: err.Error()}
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
