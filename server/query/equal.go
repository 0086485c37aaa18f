package query

import "slices"

// Equal reports whether two trees are equal. It ignores the positions in the query. Two nil nodes are equal.
func Equal(a, b Node) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case Bool:
		return same(a, b)
	case Any:
		return same(a, b)
	case Boost:
		return same(a, b)
	case Term:
		return same(a, b)
	case Phrase:
		return same(a, b)
	case Wildcard:
		return same(a, b)
	case Fuzzy:
		return same(a, b)
	case Regexp:
		return same(a, b)
	case Range:
		return same(a, b)
	case Exists:
		return same(a, b)
	case Missing:
		return same(a, b)
	default: // All and None have no members to compare.
		return a == b
	}
}

// same reports whether b has the type of a and is equal to a.
func same[T interface{ Equal(o T) bool }](a T, b Node) bool {
	o, ok := b.(T)
	return ok && a.Equal(o)
}

// Equal compares the clauses in order.
func (n Bool) Equal(o Bool) bool {
	return slices.EqualFunc(n.Clauses, o.Clauses, func(a, b Clause) bool {
		return a.Occur == b.Occur && Equal(a.Node, b.Node)
	})
}

// Equal compares the values in order.
func (n Any) Equal(o Any) bool { return slices.EqualFunc(n.Values, o.Values, Equal) }

// Equal compares the nodes and the factors.
func (n Boost) Equal(o Boost) bool { return n.Factor == o.Factor && Equal(n.Node, o.Node) }

// Equal compares everything except the position in the query.
func (n Term) Equal(o Term) bool { n.at, o.at = place{}, place{}; return n == o }

// Equal compares everything except the position in the query.
func (n Phrase) Equal(o Phrase) bool { n.at, o.at = place{}, place{}; return n == o }

// Equal compares everything except the position in the query.
func (n Wildcard) Equal(o Wildcard) bool { n.at, o.at = place{}, place{}; return n == o }

// Equal compares everything except the position in the query.
func (n Fuzzy) Equal(o Fuzzy) bool { n.at, o.at = place{}, place{}; return n == o }

// Equal compares everything except the position in the query.
func (n Regexp) Equal(o Regexp) bool { n.at, o.at = place{}, place{}; return n == o }

// Equal compares everything except the position in the query.
func (n Range) Equal(o Range) bool {
	return n.Field == o.Field && n.From.Equal(o.From) && n.To.Equal(o.To)
}

// Equal compares everything except the position in the query.
func (n Exists) Equal(o Exists) bool { return n.Field == o.Field }

// Equal compares everything except the position in the query.
func (n Missing) Equal(o Missing) bool { return n.Field == o.Field }

// Equal compares everything except the position in the query.
func (b Bound) Equal(o Bound) bool { b.at, o.at = place{}, place{}; return b == o }
