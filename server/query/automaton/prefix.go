package automaton

// prefix accepts the strings that begin with it. State i means that its first i bytes were read; the last state stays.
type prefix string

// Prefix returns an automaton that accepts every term that begins with text, byte for byte.
func Prefix(text string) Automaton { return prefix(text) }

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
