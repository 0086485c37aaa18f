package query

import "fmt"

// SyntaxError says where and why a query or a sort string is invalid. Its Error method returns the sentence that users see, which is the
// same over HTTP, in conditions and on the command line.
type SyntaxError struct {
	// Reason describes the error without its position, such as "unbalanced parenthesis".
	Reason string
	// Position is the position of the error, in characters (not bytes) from 0.
	Position int
	// Near is the text at Position, at most 20 characters. It is "" at the end of the query.
	Near string
	// Expected describes what the parser expects at Position, such as `")"`. It is "" if that is unknown.
	Expected string
	// Limit is true if a limit was exceeded (length, nesting, clauses, automaton states), and false for invalid syntax.
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

// ForbiddenFieldError says that a public caller used a private field in a query or a sort string.
type ForbiddenFieldError struct{ Field string }

func (e *ForbiddenFieldError) Error() string {
	return fmt.Sprintf("field %q requires a READ-WRITE token that allows ReadPrivate", excerpt(e.Field, longestName))
}

// Codes of warnings.
const (
	// WarnMixedOperators means that a group contains both AND and OR, of which neither takes precedence.
	WarnMixedOperators = "mixed-operators"
	// WarnUnknownField means that the catalogue does not have the field, so the clause matches nothing.
	WarnUnknownField = "unknown-field"
	// WarnLeadingWildcard means that a pattern starts with a wildcard, so a search must test every term of the field.
	WarnLeadingWildcard = "leading-wildcard"
)

// Warning is advice about a valid query.
type Warning struct {
	// Code is one of the constants above. They are stable.
	Code string
	// Message is one sentence that describes the problem and says what to do.
	Message string
	// Field is the name or the pattern of the field that the warning is about, as in FieldName.Name. It is "" unless Code is unknown-field.
	Field string
	// Start and End delimit the text that the warning is about, in characters (not bytes) from 0. The text is the first occurrence of the
	// unknown field, the clauses of the group, or the pattern. Start and End are 0 if the query was not parsed from text.
	Start int `json:"-"`
	End   int `json:"-"`
}

// nearLength is the maximum number of characters that a message quotes from a query. longestName is the maximum number of characters that
// it quotes from a field name.
const (
	nearLength  = 20
	longestName = 100
)

// excerpt returns at most the first n characters of s, for a message.
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
