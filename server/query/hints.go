package query

import (
	"fmt"
	"slices"
	"strings"
)

// hints returns the hints about a valid query and its tree.
func hints(q string, n Node) []Problem {
	var all []Problem
	text := []rune(q)
	for _, word := range operatorWords(text, n) {
		operator := strings.ToUpper(string(text[word.start:word.end]))
		all = append(all, Problem{SeverityHint, word.start, word.end, fmt.Sprintf("operators are in upper case: %q is read as a word; write %s to %s",
			string(text[word.start:word.end]), operator, operatorMeanings()[operator])})
	}
	Walk(n, func(n Node) bool {
		term, ok := n.(Term)
		if !ok {
			return true
		}
		f, _ := Lookup(term.Field.Name)
		values := Values(f)
		if f.Type != Keyword || values == nil || slices.Contains(values, Fold(term.Text)) {
			return true
		}
		message := fmt.Sprintf("no item has the value %q: the values of %q are %s", excerpt(term.Text, nearLength), term.Field.Name, strings.Join(values, ", "))
		if near := nearestValue(f, term.Text); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		}
		start := min(term.at.pos, len(text))
		all = append(all, Problem{SeverityHint, start, min(start+len([]rune(term.Text)), len(text)), message})
		return true
	})
	return all[:min(len(all), maxWarnings)]
}

// nearestValue returns the value of a field with a few fixed values that a person probably means by a text, or "" if there is none.
func nearestValue(f Field, text string) string {
	best, fit := "", Unfit
	for _, value := range Values(f) {
		for _, name := range append(NamesOf(f, value), value) {
			if is := FitOf(text, name); is < fit {
				best, fit = value, is
			}
		}
	}
	return best
}

func operatorMeanings() map[string]string {
	return map[string]string{"AND": "require both clauses", "OR": "accept either clause", "NOT": "exclude the next clause"}
}

// operatorWords returns the words and, or and not of a query that are not in upper case, and that are where an operator can be.
func operatorWords(text []rune, n Node) []stretch {
	var found []stretch
	Walk(n, func(n Node) bool {
		group, _ := n.(Bool)
		for i, c := range group.Clauses {
			word, ok := c.Node.(Term)
			if !ok || word.Field.Name != "" || c.Occur != Should || i == len(group.Clauses)-1 {
				continue
			}
			operator := strings.ToUpper(word.Text)
			if _, ok := operatorMeanings()[operator]; !ok || i == 0 && operator != "NOT" {
				continue
			}
			at := stretch{word.at.pos, word.at.pos + len(operator)}
			if at.end <= len(text) && string(text[at.start:at.end]) == word.Text && word.Text != operator { // not an escaped word
				found = append(found, at)
			}
		}
		return true
	})
	return found
}

// WithOperators returns the query in which the words and, or and not are operators, with its tree. It returns false if the query has no such
// words, or if it would be invalid with these operators.
func WithOperators(q string, a Audience) (string, Query, bool) {
	parsed, err := ParseFor(q, a)
	if err != nil {
		return "", Query{}, false
	}
	text := []rune(q)
	words := operatorWords(text, parsed.Root)
	for _, word := range words {
		copy(text[word.start:word.end], []rune(strings.ToUpper(string(text[word.start:word.end]))))
	}
	other, err := ParseFor(string(text), a)
	return string(text), other, err == nil && len(words) > 0
}
