package main

import (
	_ "embed"
	"strings"
)

//go:embed testdata/curated.txt
var curatedText string

// refused is the family of queries that both sides must refuse.
const refused = "refused"

// question is one query to compare, and the family that it counts under.
type question struct{ family, text string }

// curated returns the hand-written queries of testdata/curated.txt.
func curated() []question {
	var list []question
	family := ""
	for _, line := range strings.Split(curatedText, "\n") {
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
