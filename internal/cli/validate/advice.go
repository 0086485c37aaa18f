package validate

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/query"
)

// advise tells of a warning about the query of o: of an unknown field where it is named, of anything else at the query.
func (j Judged) advise(o v1alpha1.Object, w query.Warning) Finding {
	member, text := v1alpha1.QueryOf(o)
	f := j.finding(Warning, ruleAdvice+w.Code, member, w.Message)
	if w.Code != query.WarnUnknownField {
		return f
	}
	if index, ok := unknownField(text, w.Message); ok {
		if place, ok := j.Character(member, index); ok {
			f = at(place, f)
		}
	}
	return f
}

// unknownField finds the character at which the unknown field that a message quotes is named for the first time.
func unknownField(text, message string) (int, bool) {
	parsed, err := query.Parse(text)
	if err != nil {
		return 0, false
	}
	index, found := 0, false
	query.Walk(parsed.Root, func(n query.Node) bool {
		name := query.FieldOf(n).Name
		if _, known := query.Lookup(name); found || name == "" || known || !strings.Contains(message, strconv.Quote(name)) {
			return !found
		}
		// A node knows where its value stands; the name is before that, where it is written as it is.
		index, found = query.ErrorAt(n, "", "").Position, true
		before := string([]rune(text)[:min(index, utf8.RuneCountInString(text))])
		if start := strings.LastIndex(before, name+":"); start >= 0 {
			index = utf8.RuneCountInString(before[:start])
		}
		return false
	})
	return index, found
}
