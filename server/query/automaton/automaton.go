// Package automaton builds finite automata over the UTF-8 bytes of terms, for prefixes, wildcards and Lucene's regular expressions. The
// same automaton can test a single term and walk a sorted term dictionary. Fuzzy words need no automaton, because Distance compares two
// terms directly.
//
// This package imports no other package of this project.
package automaton

// Automaton accepts or rejects byte strings. States are small integers. A negative state is dead: the automaton accepts neither the bytes
// read so far nor any continuation of them. An Automaton is immutable and safe for concurrent use.
type Automaton interface {
	// Start returns the start state.
	Start() int
	// IsMatch reports whether the bytes read so far are accepted.
	IsMatch(state int) bool
	// CanMatch reports whether the bytes read so far, or at least one continuation of them, are accepted.
	CanMatch(state int) bool
	// WillAlwaysMatch reports whether the bytes read so far and all continuations of them are accepted.
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
