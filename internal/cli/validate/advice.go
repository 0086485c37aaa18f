package validate

import (
	"strings"
	"unicode/utf8"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/query"
)

// advise returns the finding for a warning about the query of o. It is at the field for an unknown field, and at the query
// otherwise.
func (j Judged) advise(o v1alpha1.Object, w query.Warning) Finding {
	member, text := v1alpha1.QueryOf(o)
	f := j.finding(Warning, ruleAdvice+w.Code, member, w.Message)
	if w.Field == "" {
		return f
	}
	if index, ok := firstOf(text, w.Field); ok {
		if place, ok := j.Character(member, index); ok {
			f = at(place, f)
		}
	}
	return f
}

// firstOf returns the index, in characters, of the first clause of a query that names field.
func firstOf(text, field string) (int, bool) {
	parsed, err := query.Parse(text)
	if err != nil {
		return 0, false
	}
	index, found := 0, false
	query.Walk(parsed.Root, func(n query.Node) bool {
		if found || query.FieldOf(n).Name != field {
			return !found
		}
		// The position of a node is that of its value. The name precedes it if the text writes it unescaped.
		index, found = query.ErrorAt(n, "", "").Position, true
		before := string([]rune(text)[:min(index, utf8.RuneCountInString(text))])
		if start := strings.LastIndex(before, field+":"); start >= 0 {
			index = utf8.RuneCountInString(before[:start])
		}
		return false
	})
	return index, found
}
