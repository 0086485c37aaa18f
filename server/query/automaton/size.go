package automaton

// Size returns the number of states that a keeps in memory: 0 for one that needs no table. It lets a caller bound what
// all patterns of a query need together.
func Size(a Automaton) int {
	if d, ok := a.(*dfa); ok {
		return len(d.accept)
	}
	return 0
}
