package automaton

// Size returns the number of states in the table of an automaton, or 0 if it needs no table. Callers use it to limit the total for all
// patterns of a query.
func Size(a Automaton) int {
	if d, ok := a.(*dfa); ok {
		return len(d.accept)
	}
	return 0
}

// Effort returns the number of steps that the construction of an automaton took, or 0 if it needs no table. About ten million steps take a
// second. A state can take as many steps as its pattern is long, so patterns can be expensive even if they have few states.
func Effort(a Automaton) int {
	if d, ok := a.(*dfa); ok {
		return d.effort
	}
	return 0
}
