package automaton

import (
	"fmt"
	"unicode/utf8"
)

// Wildcard returns an automaton for a wildcard pattern in Lucene's syntax. * matches any string, ? matches any one character, and a
// backslash escapes the next character (a trailing backslash matches itself). The pattern must match the whole term. The comparison is
// case-sensitive. The only error wraps ErrTooComplex.
func Wildcard(pattern string) (Automaton, error) {
	type piece struct {
		wild byte // '*', '?' or 0
		r    rune
	}
	var pieces []piece
	for i := 0; i < len(pattern); {
		r, n := utf8.DecodeRuneInString(pattern[i:])
		i += n
		switch {
		case r == '*':
			if len(pieces) > 0 && pieces[len(pieces)-1].wild == '*' {
				continue
			}
			pieces = append(pieces, piece{wild: '*'})
		case r == '?':
			pieces = append(pieces, piece{wild: '?'})
		case r == '\\' && i < len(pattern):
			r, n = utf8.DecodeRuneInString(pattern[i:])
			i += n
			fallthrough
		default:
			pieces = append(pieces, piece{r: r})
		}
	}
	p := &program{}
	at := p.match()
	for i := len(pieces) - 1; i >= 0 && p.err == nil; i-- {
		switch pieces[i].wild {
		case '*':
			at = p.anyString(at)
		case '?':
			at = p.anyRune(at)
		default:
			at = p.literal(pieces[i].r, at)
		}
	}
	d, err := p.determinize(at, MaxStates, maxEffort)
	if err != nil {
		return nil, fmt.Errorf("wildcard pattern: %w", err)
	}
	return d, nil
}
