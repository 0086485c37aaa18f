package automaton

// Size returns the number of states that a keeps in memory, or 0 if it needs no table. Callers use it to limit all patterns
// of a query together.
func Size(a Automaton) int {
	if d, ok := a.(*dfa); ok {
		return len(d.accept)
	}
	return 0
}

// Effort returns the number of steps of the construction of a, or 0 if it needs no table. About ten million steps take a
// second. A state can take as many steps as its pattern is long, so that patterns with few states can be expensive
// together.
func Effort(a Automaton) int {
	if d, ok := a.(*dfa); ok {
		return d.effort
	}
	return 0
}
