package automaton

// Size returns the number of states in the table of an automaton, or 0 if the automaton needs no table. Callers use it to limit the total
// size for all patterns of a query.
func Size(a Automaton) int {
	if d, ok := a.(*dfa); ok {
		return len(d.accept)
	}
	return 0
}

// Effort returns the number of steps that the construction of an automaton took, or 0 if the automaton needs no table. About ten million
// steps take a second. One state can take as many steps as its pattern is long, so a pattern with few states can still be expensive.
func Effort(a Automaton) int {
	if d, ok := a.(*dfa); ok {
		return d.effort
	}
	return 0
}
