package main

import "regexp"

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
	}}
}

// halfClause finds a sign of comparison without a value behind it, and _exists_ or _missing_ without a name.
var halfClause = regexp.MustCompile(`:\s*[<>]=?(?:[\s)\[{(/~^*?:+!-]|$)|_(?:exists|missing)_\s*:\s*(?:[^\s"]*\s*~|[+!\[{(/-])`)

// excepted returns the name of the exception that covers a verdict, "" for none.
func excepted(text string, v verdict) string {
	for _, e := range exceptions() {
		if e.applies(text, v) {
			return e.name
		}
	}
	return ""
}
