package parity

import (
	"regexp"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// exception is a known difference between both sides. docs/query-language.md has a row with the same name.
type exception struct {
	name, reason string
	// applies reports whether the difference explains the verdict on a query.
	applies func(text string, v verdict) bool
}

// exceptions returns the exceptions for every library. There may be at most five.
func exceptions() []exception {
	return []exception{{
		name:   "an incomplete clause",
		reason: "refused here with the place of the mistake, while OpenSearch finds nothing or leaves the half out",
		applies: func(text string, v verdict) bool {
			return v.kind == oursRefuses && halfClause.MatchString(text)
		},
	}, {
		name:   "a word and a fuzzy word that expands to it",
		reason: "Lucene makes one clause of a word and of the same word among the expansions of a fuzzy one, and scores it as either, by chance: another start of the node, another order",
		applies: func(text string, v verdict) bool {
			return v.kind == differs && sameItems(v.ours, v.theirs) && misspelt(text)
		},
	}, {
		name:   "AND after text without a word",
		reason: "AND reaches back over a clause without words to the one before it; where that is a word of several words, such as wi-fi behind another word, OpenSearch requires the last of them alone",
		applies: func(text string, v verdict) bool {
			return v.kind == differs && reachesBack(text)
		},
	}}
}

// halfClause matches a comparison operator without a value, _exists_ or _missing_ without a name, and a phrase whose proximity operator is
// followed by something other than a number.
var halfClause = regexp.MustCompile(`:\s*[<>]=?(?:[\s)\[{(/~^*?:+!&-]|$)|_(?:exists|missing)_\s*:\s*(?:[^\s"]*\s*~|[+!\[{(/-])|"[\s\x{3000}]*~[\d.]*[^\s\d.()\[\]{}^":~*?/!\\]`)

// clusterExceptions returns the exceptions for the library on OpenSearch: those in exceptions, and further ones that have a row with the
// same name in docs/opensearch.md.
func clusterExceptions() []exception {
	return append(exceptions(), exception{
		name:   "relevance",
		reason: "a clause on a field of units has the score 1, because units are not part of documents",
		applies: func(text string, v verdict) bool {
			return v.kind == differs && v.scored && sameItems(v.ours, v.theirs) && strings.Contains(text, "activate_unit")
		},
	}, exception{
		name:    "phrases across two units",
		reason:  "a phrase matches within one unit, also with a slop of 100 or more",
		applies: func(text string, v verdict) bool { return v.kind == differs && wideUnitPhrase.MatchString(text) },
	})
}

// wideUnitPhrase matches a phrase query on the names of units with a slop so large that it bridges the gap between two units.
var wideUnitPhrase = regexp.MustCompile(`activate_units\.name:"[^"]*"~\d{3}`)

// excepted returns the name of the exception that applies to a verdict, or "".
func excepted(list []exception, text string, v verdict) string {
	for _, e := range list {
		if e.applies(text, v) {
			return e.name
		}
	}
	return ""
}

// misspelt reports whether a query contains a fuzzy word together with another word that is among its possible expansions, or two fuzzy
// words with a common possible expansion.
func misspelt(text string) bool {
	type word struct {
		text  string
		edits int
	}
	parsed, err := query.Parse(text)
	if err != nil {
		return false
	}
	var words []word
	query.Walk(parsed.Root, func(n query.Node) bool {
		switch n := n.(type) {
		case query.Fuzzy:
			edits := n.Edits
			if edits == query.AutoEdits {
				edits = query.EditsFor(n.Text)
			}
			words = append(words, word{query.Fold(n.Text), edits})
		case query.Term:
			for _, t := range analysis.Analyze(n.Text) {
				words = append(words, word{t.Text, 0})
			}
		case query.Phrase:
			if tokens := analysis.Analyze(n.Text); len(tokens) == 1 {
				words = append(words, word{tokens[0].Text, 0})
			}
		}
		return true
	})
	for i, a := range words {
		for _, b := range words[:i] {
			if reach := a.edits + b.edits; reach > 0 && automaton.Distance(a.text, b.text, reach) <= reach {
				return true
			}
		}
	}
	return false
}

// reachesBack reports whether a query contains an unquoted text of several words, such as wi-fi, that an AND makes required although a
// clause without words is between the text and this AND.
func reachesBack(text string) bool {
	parsed, err := query.Parse(text)
	if err != nil {
		return false
	}
	found := false
	query.Walk(parsed.Root, func(n query.Node) bool {
		group, ok := n.(query.Bool)
		if !ok {
			return !found
		}
		words := -1 // the number of words of the last clause with words, or -1 if that clause is quoted or not required
		for i, c := range group.Clauses {
			t, bare := c.Node.(query.Term)
			p, quoted := c.Node.(query.Phrase)
			switch {
			case bare && !analysis.HasWord(t.Text) || quoted && !analysis.HasWord(p.Text):
				found = found || words > 1 && i+1 < len(group.Clauses)
			case bare && c.Occur == query.Must:
				words = len(analysis.Analyze(t.Text))
			default:
				words = -1
			}
		}
		return !found
	})
	return found
}

func TestExcepted(t *testing.T) {
	tests := map[string]struct {
		text string
		kind kind
		ours []hit // the hits of our side; the hits of OpenSearch are the items 1 and 2
		want string
	}{
		"no value":                     {text: `love text:>`, kind: oursRefuses, want: "an incomplete clause"},
		"no value before a space":      {text: `created_on:>= 2024`, kind: oursRefuses, want: "an incomplete clause"},
		"no value before an ampersand": {text: `a : >& ~`, kind: oursRefuses, want: "an incomplete clause"},
		"no value in brackets":         {text: `text:(a <)`, kind: oursRefuses},
		"no name":                      {text: `_exists_:[a TO b]`, kind: oursRefuses, want: "an incomplete clause"},
		"no name, sign":                {text: `_missing_:+ `, kind: oursRefuses, want: "an incomplete clause"},
		"a name with a nearness":       {text: `_exists_: TO ~ x`, kind: oursRefuses, want: "an incomplete clause"},
		"a whole comparison":           {text: `created_on:>2024`, kind: oursRefuses},
		"a whole presence":             {text: `_exists_:text love~1`, kind: oursRefuses},
		"a difference, not a refusal":  {text: `text:>`, kind: differs},
		"refused there alone":          {text: `text:>`, kind: theyRefuse},
		"a word and its misspelling":   {text: `are app~2`, kind: differs, ours: []hit{{id: 2}, {id: 1}}, want: "a word and a fuzzy word that expands to it"},
		"two misspellings":             {text: `text:(laove~1 "lvoe~" loev~1)`, kind: differs, ours: []hit{{id: 2}, {id: 1}}, want: "a word and a fuzzy word that expands to it"},
		"a word and its like, quoted":  {text: `"are" app~2`, kind: differs, ours: []hit{{id: 2}, {id: 1}}, want: "a word and a fuzzy word that expands to it"},
		"other items":                  {text: `are app~2`, kind: differs, ours: []hit{{id: 2}, {id: 3}}},
		"fewer items":                  {text: `are app~2`, kind: differs, ours: []hit{{id: 2}}},
		"words far apart":              {text: `beach app~2`, kind: differs, ours: []hit{{id: 2}, {id: 1}}},
		"one word twice":               {text: `app app`, kind: differs, ours: []hit{{id: 2}, {id: 1}}},
		"a fuzzy word of no edits":     {text: `app~0 app`, kind: differs, ours: []hit{{id: 2}, {id: 1}}},
		"a phrase and no number":       {text: `"good day" ~一`, kind: oursRefuses, want: "an incomplete clause"},
		"a phrase and half a number":   {text: `"good day" ~1=`, kind: oursRefuses, want: "an incomplete clause"},
		"a phrase and a boost":         {text: `"good day"~1.5^2 x`, kind: oursRefuses},
		"a phrase and a number":        {text: `"good day"~2 )`, kind: oursRefuses},
		"AND reaching back":            {text: `love a-b ... AND day`, kind: differs, want: "AND after text without a word"},
		"AND reaching back, quotes":    {text: `love wi-fi "!" AND day`, kind: differs, want: "AND after text without a word"},
		"AND reaching a single word":   {text: `love ... AND day`, kind: differs},
		"no AND":                       {text: `love a-b ... day`, kind: differs},
		"anything else that we refuse": {text: `love AND`, kind: oursRefuses},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := excepted(exceptions(), tt.text, verdict{kind: tt.kind, ours: tt.ours, theirs: []hit{{id: 1}, {id: 2}}}); got != tt.want {
				t.Errorf("excepted(%s) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}
