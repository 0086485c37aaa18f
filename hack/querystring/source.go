package querystring

import (
	"slices"
	"strings"
	"unicode"

	"github.com/vitrine-dev/vitrine/server/query"
)

// source is the text that a tree was parsed from. It shows differences in notation that the tree does not contain, but that matter to
// OpenSearch.
type source []rune

func newSource(text string) source { return source([]rune(text)) }

// ours reports whether the source contains a part of n in a form that OpenSearch interprets differently.
func (s source) ours(n query.Node) bool {
	found := false
	query.Walk(n, func(n query.Node) bool {
		switch n := n.(type) {
		case query.Bool:
			found = found || s.glued(n)
		case query.Range:
			found = found || s.comparesQuoted(n) || spaced(n.From) || spaced(n.To) || s.exotic()
		case query.Wildcard:
			found = found || s.escapesLetter(n)
		case query.Exists:
			found = found || n.Field.Pattern
		}
		return !found
	})
	return found
}

// exotic reports whether the source has white space other than spaces. In OpenSearch, such white space does not end a bound.
func (s source) exotic() bool {
	return slices.ContainsFunc(s, func(c rune) bool { return c != ' ' && isSpace(c) })
}

// glued reports whether the group contains two adjacent bare words, without an operator between them, on a field that is not a text field.
// OpenSearch treats such words as one value.
func (s source) glued(group query.Bool) bool {
	for i := 1; i < len(group.Clauses); i++ {
		a, ok := group.Clauses[i-1].Node.(query.Term)
		b, next := group.Clauses[i].Node.(query.Term)
		if ok && next && a.Field == b.Field && !isText(a.Field) && !s.joined(position(a), position(b)) {
			return true
		}
	}
	return false
}

// joined reports whether there is an operator between two words. from is the position of the first word, and to is the position of the
// second.
func (s source) joined(from, to int) bool {
	if from >= to || to > len(s) {
		return false
	}
	words := strings.Fields(string(s[from:to]))
	switch words[len(words)-1] {
	case "AND", "OR", "&&", "||":
		return true
	}
	return false
}

// comparesQuoted reports whether the range is a comparison with a quoted value.
func (s source) comparesQuoted(n query.Range) bool {
	rest := string(s[min(position(n), len(s)):])
	value := strings.TrimPrefix(strings.TrimLeft(rest, "<>"), "=")
	return value != rest && strings.HasPrefix(strings.TrimSpace(value), `"`)
}

// escapesLetter reports whether the pattern contains a letter after a backslash, including a \u escape. In patterns, OpenSearch does not
// decode \u escapes, and does not convert escaped letters to lower case.
func (s source) escapesLetter(n query.Wildcard) bool {
	word := s[min(position(n), len(s)):]
	for i, c := range word {
		switch {
		case i > 0 && word[i-1] == '\\' && unicode.IsLetter(c):
			return true
		case isSpace(c):
			return false
		}
	}
	return false
}

// isSpace reports whether c separates clauses.
func isSpace(c rune) bool { return strings.ContainsRune(" \t\r\n\u3000", c) }

// spaced reports whether the bound contains white space, which may be escaped in the source.
func spaced(b query.Bound) bool { return strings.ContainsFunc(b.Text, isSpace) }

// position returns the position of a node in the source, in characters.
func position(n query.Node) int { return query.ErrorAt(n, "", "").Position }
