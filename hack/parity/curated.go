package main

import (
	_ "embed"
	"strings"

	"github.com/vitrine-dev/vitrine/server/query"
)

// curated holds the queries that were written by hand.
//
//go:embed testdata/curated.txt
var curated string

// refused is the family of queries that both sides must refuse.
const refused = "refused"

// question is one query to compare, and the family that it counts under.
type question struct {
	family, text string
	order        string // a sort string; "" is by relevance
}

// questions reads queries, one a line. "## name" begins a family; blank lines and lines that begin with "# " are left
// out.
func questions(text string) []question {
	var list []question
	family := ""
	for _, line := range strings.Split(text, "\n") {
		switch name, isFamily := strings.CutPrefix(line, "## "); {
		case isFamily:
			family = name
		case line == "" || strings.HasPrefix(line, "# "):
		default:
			list = append(list, question{family: family, text: line})
		}
	}
	return list
}

// orders returns a question for every order by one field.
func orders() []question {
	var list []question
	for _, field := range query.SortableFields() {
		if field == query.ScoreKey || field == query.RandomKey {
			continue
		}
		for _, direction := range []string{":asc", ":desc"} {
			list = append(list, question{family: "orders", text: "*:*", order: field + direction})
		}
	}
	return list
}
