package automaton

import "fmt"

// Wildcard returns an automaton for a wildcard pattern in Lucene's syntax. * matches any string, ? matches any one character, and a
// backslash escapes the next character (a trailing backslash matches itself). The pattern must match the whole term. The comparison is
// case-sensitive. The only error wraps ErrTooComplex. Source returns the parsed expression.
func Wildcard(pattern string) (Automaton, error) {
	e := Expression{kind: exprConcat}
	text := []rune(pattern)
	for i := 0; i < len(text); i++ {
		switch r := text[i]; {
		case r == '*':
			if n := len(e.parts); n == 0 || e.parts[n-1].kind != exprRepeat {
				e.parts = append(e.parts, AnyString())
			}
		case r == '?':
			e.parts = append(e.parts, anyRune())
		case r == '\\' && i+1 < len(text):
			i++
			fallthrough
		default:
			e.parts = append(e.parts, anyOf(runeRange{text[i], text[i]}))
		}
	}
	d, err := e.automaton(maxEffort)
	if err == nil {
		err = e.checkPrinted()
	}
	if err != nil {
		return nil, fmt.Errorf("wildcard pattern: %w", err)
	}
	return d, nil
}
