package query

import "fmt"

// SyntaxError says where and why a query or a sort string could not be used. Its Error text is the one sentence that
// users see over HTTP, in a condition and on the command line, in the same words.
type SyntaxError struct {
	// Reason is the complaint without its place, such as "unbalanced bracket".
	Reason string
	// Position counts characters (not bytes) from 0.
	Position int
	// Near is the text at Position, at most 20 characters, "" at the end of the query.
	Near string
	// Expected says what would have been right, such as `")"`; "" when there is nothing useful to say.
	Expected string
	// Limit is true when a limit was passed (length, nesting, clauses, automaton states) rather than the syntax broken.
	Limit bool
}

func (e *SyntaxError) Error() string {
	near := "at the end"
	if e.Near != "" {
		near = fmt.Sprintf("near %q", e.Near)
	}
	s := fmt.Sprintf("%s at position %d, %s", e.Reason, e.Position, near)
	if e.Expected != "" {
		s += ": expected " + e.Expected
	}
	return s
}

// ForbiddenFieldError says that a public caller named a private field, in a query or in a sort string.
type ForbiddenFieldError struct{ Field string }

func (e *ForbiddenFieldError) Error() string {
	return fmt.Sprintf("field %q can be named with a READ-WRITE token only", excerpt(e.Field, longestName))
}

// The codes of warnings.
const (
	// WarnMixedOperators: AND and OR stand in one group without brackets, where there is no precedence.
	WarnMixedOperators = "mixed-operators"
	// WarnUnknownField: the catalogue does not have the field, so the clause matches nothing.
	WarnUnknownField = "unknown-field"
	// WarnLeadingWildcard: a pattern begins with a wildcard, so that every word has to be looked at.
	WarnLeadingWildcard = "leading-wildcard"
)

// Warning is advice on a query that can be used as it stands.
type Warning struct {
	// Code is a stable word: mixed-operators, unknown-field, leading-wildcard.
	Code string
	// Message is one sentence with what was seen and what to do.
	Message string
}

// How many characters messages quote of a query, and of a field name in it.
const (
	nearLength  = 20
	longestName = 100
)

// excerpt cuts s to n characters for a message.
func excerpt(s string, n int) string {
	i := 0
	for at := range s {
		if i == n {
			return s[:at]
		}
		i++
	}
	return s
}
