package main

import (
	"regexp"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// exception is a difference that is known and has its row in docs/query-language.md, under the same name.
type exception struct {
	name, reason string
	// applies reports whether the difference is why a query got its verdict.
	applies func(text string, v verdict) bool
}

// exceptions lists all of them. There may be five.
func exceptions() []exception {
	return []exception{{
		name:   "half a clause",
		reason: "refused here with the place of the mistake, while OpenSearch finds nothing or leaves the half out",
		applies: func(text string, v verdict) bool {
			return v.kind == oursRefuses && halfClause.MatchString(text)
		},
	}, {
		name:   "a word beside its misspelling",
		reason: "Lucene makes one clause of a word and of the same word among the expansions of a fuzzy one, and scores it as either, by chance: another start of the node, another order",
		applies: func(text string, v verdict) bool {
			return v.kind == differs && sameItems(v.ours, v.theirs) && misspelt(text)
		},
	}, {
		name:   "AND behind a word without letters",
		reason: "AND reaches back over a clause without words to the one before it; where that is a word of several words, such as wi-fi behind another word, OpenSearch requires the last of them alone",
		applies: func(text string, v verdict) bool {
			return v.kind == differs && reachesBack(text)
		},
	}}
}

// halfClause finds a sign of comparison without a value behind it, _exists_ or _missing_ without a name, and the nearness
// sign of a phrase with something else than a number.
var halfClause = regexp.MustCompile(`:\s*[<>]=?(?:[\s)\[{(/~^*?:+!-]|$)|_(?:exists|missing)_\s*:\s*(?:[^\s"]*\s*~|[+!\[{(/-])|"[\s\x{3000}]*~[\d.]*[^\s\d.()\[\]{}^":~*?/!\\]`)

// excepted returns the name of the exception that covers a verdict, "" for none.
func excepted(text string, v verdict) string {
	for _, e := range exceptions() {
		if e.applies(text, v) {
			return e.name
		}
	}
	return ""
}

// misspelt reports whether a query has a fuzzy word, and another word that is among what it may expand to, or another
// fuzzy word that may expand to the same.
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

// reachesBack reports whether AND requires a bare word of several words over a clause without any.
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
		words := -1 // in the last clause that has any; -1 where that is no bare word, or has not been required by AND
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
