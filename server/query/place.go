package query

// place is where a node stands in the query that it was parsed from. It takes no part in comparisons: a tree equals
// the tree of its canonical form. The zero place belongs to nodes made by programs.
type place struct {
	pos  int
	near string
}

// errorAt makes a SyntaxError about the value text that stands at the place; a node made by a program has no query
// around it, so its value stands for what was near.
func (at place) errorAt(text, reason, expected string) *SyntaxError {
	near := at.near
	if near == "" {
		near = excerpt(text, nearLength)
	}
	return &SyntaxError{Reason: reason, Position: at.pos, Near: near, Expected: expected}
}

// placeOf returns the place of the first leaf of n.
func placeOf(n Node) place {
	switch n := n.(type) {
	case Bool:
		if len(n.Clauses) > 0 {
			return placeOf(n.Clauses[0].Node)
		}
	case Any:
		if len(n.Values) > 0 {
			return placeOf(n.Values[0])
		}
	case Boost:
		return placeOf(n.Node)
	case Term:
		return n.at
	case Phrase:
		return n.at
	case Wildcard:
		return n.at
	case Fuzzy:
		return n.at
	case Regexp:
		return n.at
	case Range:
		return n.at
	case Exists:
		return n.at
	case Missing:
		return n.at
	}
	return place{}
}

// ErrorAt makes a SyntaxError about n, at the place where it stood in the query that it was parsed from (position 0
// for a node made by a program). Packages that give trees a meaning report with it.
func ErrorAt(n Node, reason, expected string) *SyntaxError {
	return placeOf(n).errorAt(n.String(), reason, expected)
}
