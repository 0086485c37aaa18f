package automaton

// prefix accepts the strings that start with the bytes of the prefix. In state i, the first i bytes of the prefix have matched. The last
// state accepts every continuation.
type prefix string

// Prefix returns an automaton that accepts every term that starts with the bytes of text.
func Prefix(text string) Automaton { return prefix(text) }

// LiteralPrefix returns a prefix of all terms that a accepts: the text of a Prefix, and "" for any other automaton.
func LiteralPrefix(a Automaton) string {
	p, _ := a.(prefix)
	return string(p)
}

func (p prefix) Start() int                 { return 0 }
func (p prefix) IsMatch(s int) bool         { return s == len(p) }
func (p prefix) CanMatch(s int) bool        { return s >= 0 }
func (p prefix) WillAlwaysMatch(s int) bool { return s == len(p) }

func (p prefix) Accept(s int, b byte) int {
	switch {
	case s == len(p):
		return s
	case s >= 0 && p[s] == b:
		return s + 1
	default:
		return dead
	}
}
