// Package automaton builds finite automata over the UTF-8 bytes of a term: prefixes, wildcards and Lucene's regular expressions. The
// interface Automaton is the one that term dictionaries use, so that the same automaton can test a single word and walk a sorted
// dictionary. Fuzzy words need no automaton, because Distance compares two terms directly.
//
// This package imports no other package of this project.
package automaton

// Automaton accepts or rejects byte strings. States are small integers. A negative state is dead: no continuation is accepted. An Automaton
// is immutable and safe for concurrent use.
type Automaton interface {
	// Start returns the start state.
	Start() int
	// IsMatch reports whether the bytes read so far are accepted.
	IsMatch(state int) bool
	// CanMatch reports whether at least one continuation is accepted.
	CanMatch(state int) bool
	// WillAlwaysMatch reports whether every continuation is accepted.
	WillAlwaysMatch(state int) bool
	// Accept returns the state after one more byte.
	Accept(state int, b byte) int
}

// Match reports whether an automaton accepts a term.
func Match(a Automaton, term string) bool {
	s := a.Start()
	for i := 0; i < len(term); i++ {
		if s = a.Accept(s, term[i]); !a.CanMatch(s) {
			return false
		}
	}
	return a.IsMatch(s)
}
