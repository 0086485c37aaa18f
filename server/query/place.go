package query

// place is the position of a node in the query that it was parsed from. Comparisons ignore places, so that a tree equals the tree of its
// canonical form. Nodes that were not parsed from text have the zero place.
type place struct {
	pos  int
	near string
}

// errorAt returns a SyntaxError about the text at the place. For a node that was not parsed from text, SyntaxError.Near is the beginning of
// text.
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
	case leaf:
		return n.header().at
	}
	return place{}
}

// ErrorAt returns a SyntaxError about n. Its position is the place of n in the query, or 0 if n was not parsed from text. Packages that
// evaluate trees use ErrorAt to report errors.
func ErrorAt(n Node, reason, expected string) *SyntaxError {
	return placeOf(n).errorAt(n.String(), reason, expected)
}
