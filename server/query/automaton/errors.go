package automaton

import (
	"errors"
	"fmt"
)

// MaxStates is the number of states that the automaton of a pattern may have (query language, "Words": limits).
const MaxStates = 10_000

// ErrTooComplex is returned for a pattern whose automaton would have more than MaxStates states, or would take an
// unreasonable effort to find out. Errors wrap it.
var ErrTooComplex = errors.New("pattern is too complex")

// SyntaxError says where and why a regular expression cannot be read.
type SyntaxError struct {
	// Offset counts characters (not bytes) of the pattern from 0.
	Offset int
	// Reason is one phrase without the place, such as `missing ")"`.
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("regular expression: %s at offset %d", e.Reason, e.Offset)
}
