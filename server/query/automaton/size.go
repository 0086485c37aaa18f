package automaton

// Size returns the number of states that a keeps in memory: 0 for one that needs no table. It lets a caller bound what
// all patterns of a query need together.
func Size(a Automaton) int {
	if d, ok := a.(*dfa); ok {
		return len(d.accept)
	}
	return 0
}

// Effort returns how many steps it took to make a, some ten million a second: 0 for one that needs no table. A state can
// take as many as its pattern is long, so that patterns of few states cost much together.
func Effort(a Automaton) int {
	if d, ok := a.(*dfa); ok {
		return d.effort
	}
	return 0
}
