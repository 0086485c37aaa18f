package httpapi

import "github.com/vitrine-dev/vitrine/server/query"

// shownClause is a clause of a query that is not in parentheses. Start and End are positions in UTF-16 code units.
type shownClause struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Occur string `json:"occur"`
	// Field is the canonical name of the field, or "tags", if the clause offers Values of the field or the range From to To. Otherwise, all
	// of them are empty.
	Field  string   `json:"field,omitempty"`
	Values []string `json:"values,omitempty"`
	From   string   `json:"from,omitempty"`
	To     string   `json:"to,omitempty"`
}

// clausesOf returns the clauses of a query for a response. It returns none for a query with an error.
func clausesOf(q string, audience query.Audience) []shownClause {
	out := []shownClause{}
	parsed, err := query.ParseFor(q, audience)
	if err != nil {
		return out
	}
	runes := []rune(q)
	for _, p := range parsed.Parts() {
		c := shownClause{Start: codeUnits(runes[:p.Start]), End: codeUnits(runes[:p.End]), Occur: occurs[p.Occur]}
		if choice, ok := query.ChoiceOf(p.Node); ok {
			c.Field, c.Values = choice.Field.Name, choice.Values
			if len(choice.Values) == 0 {
				c.From, c.To = boundText(choice.From), boundText(choice.To)
			}
		}
		out = append(out, c)
	}
	return out
}

// boundText returns a bound as text: * if it is open.
func boundText(b query.Bound) string {
	if b.Open {
		return "*"
	}
	return b.Text
}

// occurs are the names of the roles of clauses, as in explanations.
var occurs = [...]string{query.Should: "should", query.Must: "must", query.MustNot: "must not"}
