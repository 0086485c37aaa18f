package automaton

import (
	"errors"
	"fmt"
)

// MaxStates is the maximum number of states of the automaton of a pattern (see "Limits" in the documentation of the query language).
const MaxStates = 10_000

// ErrTooComplex means that the automaton of a pattern would have more than MaxStates states, or that its construction would take too many
// steps. The returned errors wrap ErrTooComplex.
var ErrTooComplex = errors.New("pattern is too complex")

// SyntaxError describes where and why a regular expression is invalid.
type SyntaxError struct {
	// Offset is the position in the pattern, in characters (not bytes) from 0.
	Offset int
	// Reason is a phrase without the position, such as `missing ")"`.
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("regular expression: %s at offset %d", e.Reason, e.Offset)
}
